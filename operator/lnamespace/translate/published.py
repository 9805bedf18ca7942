"""Which objects and API groups of the platform every tenant may see, read-only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.kube.resources import RBAC
from lnamespace.translate.resources import GroupResource

WILDCARD = "*"


@dataclass(frozen=True)
class PublishedObjects:
    """Which objects of one resource are published.

    Parameters
    ----------
    names
        Names, or beginnings of names with a ``*`` at the end.
    labels
        Labels that an object must have besides.
    """

    names: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)

    def includes(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether an object is published."""
        if any(labels.get(key) != value for key, value in self.labels.items()):
            return False
        return any(_matches(pattern, name) for pattern in self.names)


def _matches(pattern: str, name: str) -> bool:
    if pattern.endswith(WILDCARD):
        return name.startswith(pattern[: -len(WILDCARD)])
    return name == pattern


BOOTSTRAP_ROLES = PublishedObjects(
    ("cluster-admin", "admin", "edit", "view", "system:*"),
    {"kubernetes.io/bootstrapping": "rbac-defaults"},
)
"""The ClusterRoles that every API server makes; roles of add-ons named ``system:*`` lack the label
and stay hidden, because they tell what runs on the platform."""

DEFAULT_OBJECTS: Mapping[GroupResource, PublishedObjects] = {
    GroupResource(RBAC, "clusterroles"): BOOTSTRAP_ROLES,
    # A claim or an Ingress without a class is given the platform's default by admission: its name
    # is seen in the tenant's own objects anyway, and clients look the object up.
    GroupResource("storage.k8s.io", "storageclasses"): PublishedObjects((WILDCARD,)),
    GroupResource("networking.k8s.io", "ingressclasses"): PublishedObjects((WILDCARD,)),
    # Every API server has them; whether a pod may name one is not decided here.
    GroupResource("scheduling.k8s.io", "priorityclasses"): PublishedObjects(("system-*",)),
}
"""RuntimeClasses, DeviceClasses and VolumeAttributesClasses are not published by default: each
grants a sandbox, a device or a grade of storage, which the platform decides to offer."""


class _PriorityClass(msgspec.Struct, frozen=True, rename="camel"):
    global_default: bool = False


_decode_priority_class = msgspec.json.Decoder(_PriorityClass).decode


def is_global_default(priority_class: bytes) -> bool:
    """Return whether a PriorityClass is that of all pods which name none.

    It is published whatever its name is: a pod that was given it names it, and who makes another
    pod of that one, as ``kubectl debug --copy-to`` does, names it too.

    Parameters
    ----------
    priority_class
        The object as JSON.
    """
    return _decode_priority_class(priority_class).global_default


@dataclass(frozen=True)
class Published:
    """What of the platform every tenant may see.

    Parameters
    ----------
    objects
        Cluster-scoped objects by resource.
    groups
        API groups of the platform's own CustomResourceDefinitions and aggregated API servers whose
        namespaced resources tenants may use. Their cluster-scoped resources are shared as far as
        ``objects`` names them, else hidden.
    """

    objects: Mapping[GroupResource, PublishedObjects] = field(
        default_factory=lambda: dict(DEFAULT_OBJECTS)
    )
    groups: frozenset[str] = frozenset()

    def names(
        self,
        resource: GroupResource,
        objects: Iterable[tuple[str, Mapping[str, str]]],
        tenant_label: str,
    ) -> frozenset[str]:
        """Return the names of the published objects among those of a resource upstream.

        Parameters
        ----------
        objects
            Name and labels of each; an object of a tenant is never published.
        """
        rule = self.objects.get(resource)
        if rule is None:
            return frozenset()
        return frozenset(
            name
            for name, labels in objects
            if tenant_label not in labels and rule.includes(name, labels)
        )
