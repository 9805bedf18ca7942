"""The path by which the API server has the objects of a definition converted.

By one the gateway asks the tenant's webhook, by the other it changes the version alone. The API
server keeps what was answered by a path in caches of its own, which it throws away when the path
changes: what the webhook has not converted is in none that is filled after.
"""

from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from lnamespace.errors import Conflict, NoRoom, NotFound
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.translate.names.webhook_routes import WebhookPath, with_verbatim

_PATH = "/spec/conversion/webhook/clientConfig/service/path"


class _AskedService(msgspec.Struct, frozen=True):
    path: str = ""


class _AskedClient(msgspec.Struct, frozen=True):
    service: _AskedService | None = None


class _AskedWebhook(msgspec.Struct, frozen=True, rename="camel"):
    client_config: _AskedClient | None = None


class _AskedConversion(msgspec.Struct, frozen=True):
    webhook: _AskedWebhook | None = None


class _AskedVersion(msgspec.Struct, frozen=True):
    name: str = ""
    storage: bool = False


class _AskedSpec(msgspec.Struct, frozen=True):
    versions: tuple[_AskedVersion, ...] = ()
    conversion: _AskedConversion | None = None


class _AskedMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _AskedDefinition(msgspec.Struct, frozen=True):
    metadata: _AskedMeta = _AskedMeta()
    spec: _AskedSpec = _AskedSpec()

    @property
    def path(self) -> str:
        """Return the path of the conversion webhook; empty if there is none."""
        conversion = self.spec.conversion
        webhook = conversion and conversion.webhook
        client = webhook and webhook.client_config
        return client.service.path if client and client.service else ""


_asked = msgspec.json.Decoder(_AskedDefinition)


class ConversionState(NamedTuple):
    """Who converts the objects of a definition.

    Parameters
    ----------
    asked
        Whether its webhook is asked.
    unconverted
        The version in which objects are stored, if the webhook is not asked; None if it is, and if
        there is none.
    """

    asked: bool = False
    unconverted: str | None = None


def read_conversion(raw: bytes | Raw) -> ConversionState:
    """Return who converts the objects of a definition."""
    found = _asked.decode(raw)
    path = WebhookPath.parse(found.path)
    if path is None or not path.verbatim:
        return ConversionState(asked=path is not None)
    stored = next((each.name for each in found.spec.versions if each.storage), "")
    return ConversionState(unconverted=stored)


async def set_verbatim(client: Client, name: str, *, verbatim: bool) -> None:
    """Have a definition's objects converted by its webhook, or by nobody.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    try:
        path = CUSTOM_RESOURCE_DEFINITION.path(name)
        found = decode(_asked, await client.get(path))
    except NotFound:
        return
    changed = with_verbatim(found.path, verbatim=verbatim)
    if changed == found.path:
        return
    version = found.metadata.resource_version
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": _PATH, "value": changed},
    ]
    with suppress(Conflict, NotFound):  # somebody was first; it is looked at again
        try:
            await client.patch_json(path, operations)
        except NoRoom:
            # One empty entry is how a client forgets who owns which field.
            forgotten = {"op": "replace", "path": "/metadata/managedFields", "value": [{}]}
            await client.patch_json(path, [*operations, forgotten])
