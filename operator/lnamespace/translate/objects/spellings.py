"""Rules for single values: a namespace, the name of a class, an API group, JSON in a string."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import encode

from lnamespace.kube.resources import RBAC
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.translators import (
    FieldRule,
    ForeignObject,
    Leaf,
    Spelling,
    text_of,
)
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import forbidden


def _namespace_or_all_up(view: TenantView, namespace: str) -> str:
    return namespace if namespace == "*" else view.namespace_up(namespace)


NAMESPACE_SPELLING = Spelling(TenantView.namespace_up, TenantView.namespace_down)
"""The name of a namespace; empty stays empty."""
NAMESPACE_OR_ALL = Spelling(_namespace_or_all_up, TenantView.namespace_down)
"""The name of a namespace, or ``*``."""
GROUP = Spelling(TenantView.group_up, TenantView.group_down)
API_VERSION = Spelling(TenantView.api_version_up, TenantView.api_version_down)
USER = Spelling(TenantView.user_up, TenantView.user_down)
USER_GROUP = Spelling(TenantView.user_group_up, TenantView.user_group_down)


@dataclass(frozen=True)
class NameOf(Leaf):
    """The translation of the name of another object, of a known cluster-scoped type.

    A published name stays. On the way up any other name gets the prefix, so an unpublished object
    of the platform cannot be named.
    """

    resource: ResourceType

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a name in upstream spelling."""
        name = text_of(value)
        return value if name is None else context.view.name_up(self.resource, name)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a name in tenant spelling; a name that is the platform's stays."""
        name = text_of(value)
        below = None if name is None else context.view.name_down(self.resource, name)
        return value if below is None else below


def _cluster_scoped(group: str, plural: str, kind: str) -> ResourceType:
    return ResourceType(group, plural, kind, namespaced=False)


PERSISTENT_VOLUME_NAME = NameOf(_cluster_scoped("", "persistentvolumes", "PersistentVolume"))
STORAGE_CLASS_NAME = NameOf(_cluster_scoped("storage.k8s.io", "storageclasses", "StorageClass"))
VOLUME_ATTRIBUTES_CLASS_NAME = NameOf(
    _cluster_scoped("storage.k8s.io", "volumeattributesclasses", "VolumeAttributesClass")
)
PRIORITY_CLASS_NAME = NameOf(
    _cluster_scoped("scheduling.k8s.io", "priorityclasses", "PriorityClass")
)
RUNTIME_CLASS_NAME = NameOf(_cluster_scoped("node.k8s.io", "runtimeclasses", "RuntimeClass"))
INGRESS_CLASS_NAME = NameOf(_cluster_scoped("networking.k8s.io", "ingressclasses", "IngressClass"))
DEVICE_CLASS_NAME = NameOf(_cluster_scoped("resource.k8s.io", "deviceclasses", "DeviceClass"))
CLUSTER_TRUST_BUNDLE_NAME = NameOf(
    _cluster_scoped("certificates.k8s.io", "clustertrustbundles", "ClusterTrustBundle")
)
PLATFORMS_ROLES = "lcluster:"
"""The beginning of the names of the platform's Roles and RoleBindings in tenants' namespaces."""
CLUSTER_ROLE_NAME = _cluster_scoped(RBAC, "clusterroles", "ClusterRole")


@dataclass(frozen=True)
class OwnName(Leaf):
    """The translation of ``metadata.name`` of a cluster-scoped object."""

    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the name in upstream spelling."""
        name = text_of(value)
        return value if name is None else context.view.name_up(context.resource, name)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the name in tenant spelling."""
        name = text_of(value)
        if name is None:
            return value
        below = context.view.name_down(context.resource, name)
        if below is None:
            raise ForeignObject
        return below


@dataclass(frozen=True)
class OwnRoleName(Leaf):
    """The unchanged ``metadata.name`` of a Role or a RoleBinding; those of the platform are hidden.

    The platform binds the tenant's account in each of its namespaces.
    """

    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the name; refuse one of the platform."""
        name = text_of(value)
        if name is not None and name.startswith(PLATFORMS_ROLES):
            raise forbidden(
                context.resource.group_resource, name, "names that begin so are the platform's"
            )
        return value

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the name."""
        del context
        name = text_of(value)
        if name is not None and name.startswith(PLATFORMS_ROLES):
            raise ForeignObject
        return value


@dataclass(frozen=True)
class OwnNamespace(Leaf):
    """The translation of ``metadata.namespace``."""

    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the namespace in upstream spelling."""
        return NAMESPACE_SPELLING.up(value, context)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the namespace in tenant spelling."""
        namespace = text_of(value)
        if namespace is None:
            return value
        below = context.view.namespace_down(namespace)
        if below is None:
            raise ForeignObject
        return below


def _with_prefix(view: TenantView, name: str) -> str:
    return view.prefix + name if name else name


def _without_prefix(view: TenantView, name: str) -> str:
    return name.removeprefix(view.prefix)


PREFIXED = Spelling(_with_prefix, _without_prefix)
"""A name that is the tenant's own whatever the platform publishes."""


def _driver_up(view: TenantView, driver: str) -> str:
    return driver if driver in view.allowances.csi_drivers else _with_prefix(view, driver)


def _driver_down(view: TenantView, driver: str) -> str:
    return driver if driver in view.allowances.csi_drivers else _without_prefix(view, driver)


DRIVER = Spelling(_driver_up, _driver_down)
"""The CSI driver of an inline volume; one that is not allowed gets the prefix."""


@dataclass(frozen=True)
class JsonText(Leaf):
    """The translation of JSON in a string by another rule."""

    rule: FieldRule

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the text in upstream spelling."""
        return _within_text(value, lambda inner: self.rule.up(inner, context))

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the text in tenant spelling."""
        return _within_text(value, lambda inner: self.rule.down(inner, context))


def _within_text(value: Any, translate: Callable[[Any], Any]) -> Any:
    text = text_of(value)
    if text is None:
        return value
    try:
        return encode(translate(Raw(text.encode()))).decode()
    except (DecodeError, RecursionError, TypeError):
        return value  # it is no JSON, and not read as such
