"""The objects and API groups of the platform that every tenant may see, read-only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from lnamespace.errors import OptionError
from lnamespace.kube.resources import RBAC
from lnamespace.translate.protocol.policies import BUILT_IN_GROUPS
from lnamespace.translate.protocol.resources import GroupResource

WILDCARD = "*"


@dataclass(frozen=True)
class PublishedObjects:
    """The published objects of one resource.

    Parameters
    ----------
    names
        Names, or beginnings of names with a ``*`` at the end.
    labels
        Labels that an object must have besides.
    further
        As ``names``, of objects that need no labels.
    """

    names: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    further: tuple[str, ...] = ()

    def includes(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether an object is published."""
        labelled = all(labels.get(key) == value for key, value in self.labels.items())
        patterns = (*self.names, *self.further) if labelled else self.further
        return any(_matches(pattern, name) for pattern in patterns)


def _matches(pattern: str, name: str) -> bool:
    if pattern.endswith(WILDCARD):
        return name.startswith(pattern[: -len(WILDCARD)])
    return name == pattern


BOOTSTRAP_ROLES = PublishedObjects(
    ("cluster-admin", "admin", "edit", "view", "system:*"),
    {"kubernetes.io/bootstrapping": "rbac-defaults"},
)
"""The ClusterRoles that every API server makes; roles of add-ons named ``system:*`` lack the label
and stay hidden, because they show what runs on the platform."""

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
    """Return whether a PriorityClass is the default of pods that name none.

    It is published whatever its name is: admission writes it into pods, and a client that copies a
    pod, as ``kubectl debug --copy-to`` does, names it too.

    Parameters
    ----------
    priority_class
        The object as JSON.
    """
    return _decode_priority_class(priority_class).global_default


@dataclass(frozen=True)
class Published:
    """The objects of the platform that every tenant may see.

    Parameters
    ----------
    objects
        Cluster-scoped objects by resource. Custom ones are named exactly: the platform's
        CustomResourceDefinitions may come and go.
    usable
        Namespaced resources of the platform's CustomResourceDefinitions, of which tenants may have
        objects in their namespaces.
    """

    objects: Mapping[GroupResource, PublishedObjects] = field(
        default_factory=lambda: dict(DEFAULT_OBJECTS)
    )
    usable: frozenset[GroupResource] = frozenset()

    @cached_property
    def groups(self) -> frozenset[str]:
        """Return the platform's own API groups of which tenants are served resources."""
        named = (each.group for each in (*self.objects, *self.usable))
        return frozenset(each for each in named if each not in BUILT_IN_GROUPS)

    @cached_property
    def custom_names(self) -> Mapping[GroupResource, frozenset[str]]:
        """Return the names of the published cluster-scoped custom resources."""
        return {
            resource: frozenset(rule.names)
            for resource, rule in self.objects.items()
            if resource.group not in BUILT_IN_GROUPS
        }

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


class CustomGroup(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The published kinds of one API group of the platform's CustomResourceDefinitions."""

    group: str
    cluster_scoped: dict[str, tuple[str, ...]] = {}
    namespaced: tuple[str, ...] = ()


class _Publication(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The names of each kind, as the platform team writes them."""

    storage_classes: tuple[str, ...] = (WILDCARD,)
    ingress_classes: tuple[str, ...] = (WILDCARD,)
    priority_classes: tuple[str, ...] = ("system-*",)
    runtime_classes: tuple[str, ...] = ()
    device_classes: tuple[str, ...] = ()
    volume_attributes_classes: tuple[str, ...] = ()
    cluster_roles: tuple[str, ...] = ()
    custom_resources: tuple[CustomGroup, ...] = ()


_CLASSES: Mapping[str, GroupResource] = {
    "storage_classes": GroupResource("storage.k8s.io", "storageclasses"),
    "ingress_classes": GroupResource("networking.k8s.io", "ingressclasses"),
    "priority_classes": GroupResource("scheduling.k8s.io", "priorityclasses"),
    "runtime_classes": GroupResource("node.k8s.io", "runtimeclasses"),
    "device_classes": GroupResource("resource.k8s.io", "deviceclasses"),
    "volume_attributes_classes": GroupResource("storage.k8s.io", "volumeattributesclasses"),
}


def decode_published(text: str) -> Published:
    """Read the published objects from JSON; a missing key has its default.

    Raises
    ------
    OptionError
        The text is not JSON, has another key, or names objects that cannot be published.
    """
    if not text.strip():
        # As of a `helm get values` that failed in front of a pipe.
        raise OptionError("--gateway-published is empty; for the defaults, write {}")
    try:
        written = msgspec.json.decode(text, type=_Publication)
    except ValueError as error:
        raise OptionError(f"--gateway-published: {error}") from error
    objects = {
        resource: PublishedObjects(names)
        for key, resource in _CLASSES.items()
        if (names := getattr(written, key))
    }
    roles = replace(BOOTSTRAP_ROLES, further=written.cluster_roles)
    objects[GroupResource(RBAC, "clusterroles")] = roles
    usable: set[GroupResource] = set()
    for each in written.custom_resources:
        _check_custom(each)
        usable.update(GroupResource(each.group, plural) for plural in each.namespaced)
        for plural, names in each.cluster_scoped.items():
            objects[GroupResource(each.group, plural)] = PublishedObjects(names)
    return Published(objects, frozenset(usable))


def _check_custom(custom: CustomGroup) -> None:
    if custom.group in BUILT_IN_GROUPS or "." not in custom.group:
        why = "is no group of CustomResourceDefinitions of the platform"
        raise OptionError(f'--gateway-published: customResources: "{custom.group}" {why}')
    if any(WILDCARD in name for names in custom.cluster_scoped.values() for name in names):
        why = f"objects of {custom.group} are named exactly, without {WILDCARD}"
        raise OptionError(f"--gateway-published: customResources: {why}")
