"""Definitions by whose client the API server cannot ask the gateway to convert."""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lnamespace.errors import Conflict, NoRoom
from lnamespace.gateway.controllers.conversion_clients import ConversionClients
from lnamespace.gateway.definitions.conversion_paths import (
    ConversionState,
    conversion_of,
    digest_of,
)
from lnamespace.gateway.definitions.definition import decode_definition
from lnamespace.gateway.definitions.definition_patches import CLEAR_MANAGED_FIELDS
from lnamespace.gateway.tenants.watched_parts import KeptDefinition
from lnamespace.translate.names.webhook_routes import TenantWebhook

from tests.unit.support.translation import ACME
from tests.unit.support.webhook_routes import ROUTE

NAME = "carts.acme-shop.example.com"
WEBHOOK = TenantWebhook("acme-hooks", "hook")
KEY, OLD = "ab" * 16, "cd" * 16
CLIENT = "/spec/conversion/webhook/clientConfig"


def kept_of(raw: bytes) -> ConversionState:
    """Return how the gateway is asked to convert, of a definition as it is watched."""
    return conversion_of(decode_definition(raw))


def certificate(text: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"


ROOT, FORMER, OWN = (certificate(each) for each in ("Root", "Former", "Own"))


def path(key: str = KEY, first: str = "webhooks") -> str:
    return f"/{first}/acme/{key}/acme-default/hook/443/convert"


def definition(at: str, bundle: str) -> bytes:
    config: dict[str, Any] = {"service": {"path": at}}
    if bundle:
        config["caBundle"] = base64.b64encode(bundle.encode()).decode()
    spec = {"conversion": {"webhook": {"clientConfig": config}}}
    return json.dumps({"metadata": {"resourceVersion": "7"}, "spec": spec}).encode()


@dataclass
class Platform:
    """An API server with a definition, and what the watch says of it."""

    raw: bytes
    key: str = KEY
    errors: list[Exception] = field(default_factory=list)
    patched: list[Sequence[Any]] = field(default_factory=list)

    has_synced = True

    def definitions(self) -> Iterator[tuple[str, str, KeptDefinition]]:
        yield "acme", NAME, KeptDefinition(conversion=kept_of(self.raw))

    def get(self, name: str) -> Any:
        assert name == "acme"
        return SimpleNamespace(view=replace(ACME, webhook_route=replace(ROUTE, key=self.key)))

    async def read(self, _: str) -> bytes:
        return self.raw

    async def patch_json(self, _: str, operations: Sequence[Any]) -> bytes:
        self.patched.append(operations)
        if self.errors:
            raise self.errors.pop()
        return b"{}"

    async def renew(self) -> dict[str, str]:
        """Return what was written."""
        client = SimpleNamespace(get=self.read, patch_json=self.patch_json)
        await ConversionClients(cast(Any, self), cast(Any, client), ROOT).renew_all()
        test, *changes = self.patched[-1]
        assert test == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
        return {each["path"].removeprefix(CLIENT): each["value"] for each in changes}


@pytest.mark.parametrize(
    ("before", "after"), [("", ROOT), (FORMER + OWN, ROOT + OWN), (FORMER, ROOT)]
)
async def test_the_api_server_trusts_the_gateway_whatever_its_tenant_wrote(
    before: str, after: str
) -> None:
    """Without a CA the gateway was never asked, and no namespace of the cluster was deleted."""
    written = await Platform(definition(path(), before)).renew()
    assert written == {"/caBundle": base64.b64encode(after.encode()).decode()}


@pytest.mark.parametrize("first", ["webhooks", "verbatim"])
async def test_a_webhook_is_asked_by_the_present_key(
    first: str,
) -> None:
    written = await Platform(definition(path(OLD, first), ROOT + OWN)).renew()
    assert written == {"/service/path": path(KEY, first)}


async def test_what_nobody_serves_keeps_its_key() -> None:
    written = await Platform(definition(path(OLD), OWN), key="").renew()
    assert list(written) == ["/caBundle"]


async def test_a_definition_without_room_forgets_who_owns_its_fields() -> None:
    platform = Platform(definition(path(), ""), errors=[NoRoom("too large", status=500)])
    await platform.renew()
    assert platform.patched[-1] == [*platform.patched[0], CLEAR_MANAGED_FIELDS]


async def test_who_is_first_wins() -> None:
    platform = Platform(definition(path(), ""), errors=[Conflict("changed", status=409)])
    await platform.renew()
    assert len(platform.patched) == 1


def test_of_a_definition_the_key_and_a_digest_of_the_first_ca_are_kept() -> None:
    found = kept_of(definition(path(), ROOT + OWN))
    assert found == ConversionState(KEY, digest_of(ROOT.encode()))
    assert kept_of(definition(path(), "")) == ConversionState(KEY, "")
    assert kept_of(b"{}") == kept_of(definition("/own", OWN)) == ConversionState()
    assert digest_of(b"text" + ROOT.encode()) == ""
    assert kept_of(definition(ROUTE.path_of(WEBHOOK), ROOT)).key == ROUTE.key
