"""The path by which the API server has the objects of a definition converted.

By one the gateway asks the tenant's webhook, by the other it changes the version alone. The API
server keeps what was answered by a path in caches of its own, which it throws away when the path
changes: what the webhook has not converted is in none that is filled after.
"""

import base64
import hashlib
import re
from typing import NamedTuple

import msgspec
from msgspec import Raw

from lnamespace.gateway.definitions.definition_patches import (
    Operation,
    patch_definition,
    read_definition,
)
from lnamespace.kube.client import Client
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.translate.names.webhook_routes import WebhookPath, with_verbatim

WEBHOOK_CLIENT = "/spec/conversion/webhook/clientConfig"
"""The pointer to what says how the API server asks."""
CERTIFICATE = re.compile(
    rb"\A-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\n?"
)
"""The first certificate of a CA bundle, which is the gateway's."""


class _AskedService(msgspec.Struct, frozen=True):
    path: str = ""


class _AskedClient(msgspec.Struct, frozen=True, rename="camel"):
    service: _AskedService | None = None
    ca_bundle: str | None = None


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


class AskedDefinition(msgspec.Struct, frozen=True):
    """A definition, and how the API server asks for conversions of its objects."""

    metadata: _AskedMeta = _AskedMeta()
    spec: _AskedSpec = _AskedSpec()

    @property
    def _client(self) -> _AskedClient:
        conversion = self.spec.conversion
        webhook = conversion and conversion.webhook
        return (webhook and webhook.client_config) or _AskedClient()

    @property
    def path(self) -> str:
        """Return the path of the conversion webhook; empty if there is none."""
        return self._client.service.path if self._client.service else ""

    @property
    def bundle(self) -> bytes:
        """Return the CAs that the API server trusts there, in PEM."""
        try:
            return base64.b64decode(self._client.ca_bundle or "")
        except ValueError:
            return b""


asked_definition = msgspec.json.Decoder(AskedDefinition)


class ConversionClient(NamedTuple):
    """How the API server asks the gateway to convert.

    Parameters
    ----------
    key
        The key in the path; empty if the gateway is not asked.
    authority
        A digest of the first CA.
    """

    key: str = ""
    authority: str = ""


def read_client(raw: bytes | Raw) -> ConversionClient:
    """Return how the API server asks the gateway to convert the objects of a definition."""
    found = asked_definition.decode(raw)
    path = WebhookPath.parse(found.path)
    return ConversionClient(path.key, digest_of(found.bundle)) if path else ConversionClient()


def digest_of(bundle: bytes) -> str:
    """Return a digest of the first certificate; empty if there is none."""
    first = CERTIFICATE.match(bundle)
    return hashlib.sha256(first[0].strip()).hexdigest() if first else ""


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
    found = asked_definition.decode(raw)
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
    found = await read_definition(client, name, asked_definition)
    changed = with_verbatim(found.path, verbatim=verbatim) if found else ""
    if found is None or changed == found.path:
        return
    path = CUSTOM_RESOURCE_DEFINITION.path(name)
    place = f"{WEBHOOK_CLIENT}/service/path"
    unchanged: Operation = {"op": "test", "path": place, "value": found.path}
    operation: Operation = {"op": "replace", "path": place, "value": changed}
    await patch_definition(client, path, "", [unchanged, operation])
