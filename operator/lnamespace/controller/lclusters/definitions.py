"""The CustomResourceDefinitions of tenants, and their API groups."""

import msgspec

from lnamespace.kube import answers
from lnamespace.kube.metadata import PartialObject
from lnamespace.kube.objects import Key
from lnamespace.model.lcluster import tenant_of_name
from lnamespace.model.names import Names

_decoder = msgspec.json.Decoder(PartialObject)


class CachedDefinition(msgspec.Struct, frozen=True):
    """A CustomResourceDefinition of a tenant, of which only the group is kept."""

    key: Key
    version: int
    tenant: str
    group: str


def read_definition(raw: bytes | msgspec.Raw, names: Names) -> CachedDefinition:
    """Read a definition; ``tenant`` is empty unless its label and its group name the same one.

    The API server requires the name of a definition to be its plural and its group.
    """
    metadata = answers.decode(_decoder, raw).metadata
    _, _, group = metadata.name.partition(".")
    tenant = metadata.labels.get(names.lcluster_label, "")
    if tenant_of_name(group) != tenant:
        tenant = ""
    return CachedDefinition(metadata.key, metadata.version, tenant, group)
