"""The path by which the API server has the objects of a definition converted.

By one the gateway asks the tenant's webhook, by the other it changes the version alone. The API
server keeps what was answered by a path in caches of its own, which it throws away when the path
changes: what the webhook has not converted is in none that is filled after.
"""

import hashlib
import re
from typing import NamedTuple

from lnamespace.gateway.definitions.definition import CustomResourceDefinition
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


def digest_of(bundle: bytes) -> str:
    """Return a digest of the first certificate; empty if there is none."""
    first = CERTIFICATE.match(bundle)
    return hashlib.sha256(first[0].strip()).hexdigest() if first else ""


class ConversionState(NamedTuple):
    """Who converts the objects of a definition.

    Parameters
    ----------
    key
        The key in the path by which the API server asks the gateway; empty if it does not.
    authority
        A digest of the first CA that it trusts there.
    unconverted
        The version in which objects are stored, if the gateway changes the version alone; None if
        it asks the tenant's webhook, and if it is not asked.
    """

    key: str = ""
    authority: str = ""
    unconverted: str | None = None

    @property
    def asks_webhook(self) -> bool:
        """Return whether the tenant's webhook is asked."""
        return bool(self.key) and self.unconverted is None


def conversion_of(definition: CustomResourceDefinition) -> ConversionState:
    """Return who converts the objects of a definition."""
    path = WebhookPath.parse(definition.conversion_path)
    if path is None:
        return ConversionState()
    stored = next((each.name for each in definition.spec.versions if each.storage), "")
    authority = digest_of(definition.conversion_authorities)
    return ConversionState(path.key, authority, stored if path.verbatim else None)


async def set_verbatim(client: Client, name: str, *, verbatim: bool) -> None:
    """Have a definition's objects converted by its webhook, or by nobody.

    Raises
    ------
    ClusterError
        The API server does not answer or refuses.
    """
    found = await read_definition(client, name)
    changed = with_verbatim(found.conversion_path, verbatim=verbatim) if found else ""
    if found is None or changed == found.conversion_path:
        return
    path = CUSTOM_RESOURCE_DEFINITION.path(name)
    place = f"{WEBHOOK_CLIENT}/service/path"
    unchanged: Operation = {"op": "test", "path": place, "value": found.conversion_path}
    operation: Operation = {"op": "replace", "path": place, "value": changed}
    await patch_definition(client, path, "", [unchanged, operation])
