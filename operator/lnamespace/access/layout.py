"""The conventions that all objects of one instance share."""

from dataclasses import dataclass, field
from functools import cached_property

from lnamespace.kube.objects import MANAGED_BY, Marks
from lnamespace.model.lnamespace import VERSION
from lnamespace.model.names import Names


@dataclass(frozen=True)
class Layout:
    """How one instance names and marks what it makes; ``users_role`` is a ClusterRole."""

    names: Names = field(default_factory=Names)
    users_role: str = "admin"

    @cached_property
    def marks(self) -> Marks:
        """The labels and annotations that are this instance's to say."""
        names = self.names
        return Marks(
            manager=names.prefix,
            labels=(names.tenant_label,),
            annotations=(names.owner_annotation, names.person_annotation),
        )

    @cached_property
    def api_version(self) -> str:
        """Of LNamespaces, as it stands in owner references."""
        return f"{self.names.group}/{VERSION}"

    def labels(self, tenant: str = "") -> dict[str, str]:
        """The labels of an object, for the server to select and for people to search."""
        labels = {MANAGED_BY: self.names.prefix}
        return labels | {self.names.tenant_label: tenant} if tenant else labels
