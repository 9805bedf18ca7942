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


def client_of(definition: CustomResourceDefinition) -> ConversionClient:
    """Return how the API server asks the gateway to convert the objects of a definition."""
    path = WebhookPath.parse(definition.conversion_path)
    if path is None:
        return ConversionClient()
    return ConversionClient(path.key, digest_of(definition.conversion_authorities))


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


def conversion_of(definition: CustomResourceDefinition) -> ConversionState:
    """Return who converts the objects of a definition."""
    path = WebhookPath.parse(definition.conversion_path)
    if path is None or not path.verbatim:
        return ConversionState(asked=path is not None)
    stored = next((each.name for each in definition.spec.versions if each.storage), "")
    return ConversionState(unconverted=stored)


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
