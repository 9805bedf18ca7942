"""The names of one tenant's cluster, in both directions.

A namespace ``prod`` of tenant ``acme`` is ``acme-prod`` upstream, a ClusterRole ``deployer`` is
``acme-deployer``, and the group ``example.com`` of a tenant's own CustomResourceDefinition is
``acme-example.com``. The name of a tenant has no dash, so no prefix is the beginning of another.

The methods for the way down return None for a name that is not this tenant's.
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from lnamespace.model.quantities import ShownTotals
from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.translate.names.allowances import Allowances
from lnamespace.translate.names.webhook_routes import WebhookRoute
from lnamespace.translate.protocol.policies import is_reserved_group
from lnamespace.translate.protocol.resources import (
    GroupResource,
    ResourceTable,
    ResourceType,
    ServingPolicy,
)

SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts:"
NAMESPACES = GroupResource("", "namespaces")
PERSISTENT_VOLUMES = GroupResource("", "persistentvolumes")
CRDS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_DYNAMIC_VOLUME = re.compile("pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_provisioned(name: str) -> bool:
    """Return whether a PersistentVolume's name is a provisioner's, with the UID of a claim.

    It is the same upstream, and names no tenant.
    """
    return _DYNAMIC_VOLUME.fullmatch(name) is not None


@dataclass(frozen=True)
class TenantView:
    """The translation of names between a tenant's cluster and the platform's.

    Parameters
    ----------
    tenant
        The name of the LCluster.
    resources
        The resources that the tenant is served, in tenant spelling.
    published
        The names of the platform's objects that every tenant may see and name, by resource.
    tenant_label
        The label that the gateway puts on every Namespace and cluster-scoped object of a tenant;
        its value is the tenant. No tenant sees or writes it.
    in_pod
        Whether the client used the upstream spelling of a namespace, as in-cluster clients do that
        read it from their token's volume: namespaces are then answered in that spelling.
    namespace_annotations
        Annotations that every Namespace of the tenant has upstream. Their keys are the gateway's
        own, so no tenant sees them, and an update by a tenant would take them away.
    allowances
        The settings of the platform that the tenant's objects may use.
    webhook_route
        The route of the API server to the tenant's webhooks; None if it has none.
    default_classes
        The upstream names of the tenant's own default classes, by their resource.
    platform_groups
        The API groups of the platform's own that the tenant is served something of.
    unconverted
        The tenant's kinds whose conversion webhook is not asked, each with the version in which its
        objects are stored.
    totals
        Returns the totals of all namespaces, to show instead of each share; None if there are none.
    namespaces
        The tenant's present namespaces in upstream spelling, to recognize them in texts.
    """

    tenant: str
    resources: ResourceTable = field(default_factory=ResourceTable)
    published: Mapping[GroupResource, frozenset[str]] = field(default_factory=dict)
    tenant_label: str = "tenancy.loblaw.digital/lcluster"
    in_pod: bool = False
    namespace_annotations: Mapping[str, str] = field(default_factory=dict)
    allowances: Allowances = field(default_factory=Allowances)
    webhook_route: WebhookRoute | None = None
    default_classes: Mapping[GroupResource, str] = field(default_factory=dict)
    platform_groups: frozenset[str] = frozenset()
    unconverted: Mapping[GroupResource, str] = field(default_factory=dict)
    totals: Callable[[], ShownTotals] | None = field(default=None, compare=False)
    namespaces: Container[str] = field(default=frozenset(), compare=False)

    @cached_property
    def prefix(self) -> str:
        """Return the prefix of the tenant's names upstream."""
        return f"{self.tenant}-"

    @cached_property
    def platform_domain(self) -> str:
        """Return the domain of the label keys that the platform's own operator acts on."""
        return self.tenant_label.rpartition("/")[0]

    @cached_property
    def identity_prefix(self) -> str:
        """Return the prefix of the names of the tenant's users and groups upstream."""
        return f"lcluster:{self.tenant}:"

    @cached_property
    def spelled_apart(self) -> frozenset[GroupResource]:
        """Return the resources of which some names are not spelled by the prefix alone."""
        return frozenset((NAMESPACES, CRDS, PERSISTENT_VOLUMES, *self.published))

    def namespace_up(self, namespace: str) -> str:
        """Return a namespace in upstream spelling; one that has it already stays."""
        if not namespace or namespace.startswith(self.prefix):
            return namespace
        return self.prefix + namespace

    def namespace_down(self, namespace: str) -> str | None:
        """Return a namespace in the client's spelling, or None if it is another's."""
        if not namespace:
            return ""
        if not namespace.startswith(self.prefix):
            return None
        return namespace if self.in_pod else namespace[len(self.prefix) :]

    def name_up(self, resource: ResourceType, name: str) -> str:
        """Return the name of an object of a resource in upstream spelling."""
        if resource.namespaced or not name:
            return name
        if name in self.published.get(resource.group_resource, ()):
            return name
        match resource.group_resource:
            case GroupResource("", "namespaces"):
                return self.namespace_up(name)
            case GroupResource("apiextensions.k8s.io", "customresourcedefinitions"):
                return self.crd_name_up(name)
            case GroupResource("", "persistentvolumes") if is_provisioned(name):
                return name
        return self.prefix + name

    def name_down(self, resource: ResourceType, name: str) -> str | None:
        """Return the name of an object in tenant spelling, or None if it is another's."""
        if resource.namespaced or not name:
            return name
        if name in self.published.get(resource.group_resource, ()):
            return name
        match resource.group_resource:
            case GroupResource("", "namespaces"):
                return self.namespace_down(name)
            case GroupResource("apiextensions.k8s.io", "customresourcedefinitions"):
                return self.crd_name_down(name)
            case GroupResource("", "persistentvolumes") if is_provisioned(name):
                return name
        # The platform may have objects of a shared kind that begin as names of the tenant do.
        own = name.startswith(self.prefix) and resource.policy is not ServingPolicy.SHARED
        return name[len(self.prefix) :] if own else None

    def group_up(self, group: str) -> str:
        """Return an API group in upstream spelling; one that is not served gets the prefix too.

        An operator installs its webhooks together with its definitions, before the gateway has
        seen these: without the prefix, a rule for the group never matched. And the garbage
        collector deletes an object if the kind of its owner exists and the owner does not: an owner
        in a group of another tenant would show whether that tenant has the kind.
        """
        if group in self.resources.custom_groups:
            return self.prefix + group
        return group if group == "*" or self._is_platforms(group) else self.prefix + group

    def group_down(self, group: str) -> str:
        """Return an API group in tenant spelling; a group of the platform stays as it is."""
        return group.removeprefix(self.prefix)

    def api_version_up(self, api_version: str) -> str:
        """Return ``GROUP/VERSION`` in upstream spelling."""
        group, slash, version = api_version.rpartition("/")
        return f"{self.group_up(group)}{slash}{version}"

    def _is_platforms(self, group: str) -> bool:
        """Return whether a group is Kubernetes' own, or one of the platform that is served."""
        return not group or is_reserved_group(group) or group in self.platform_groups

    def api_version_down(self, api_version: str) -> str:
        """Return ``GROUP/VERSION`` in tenant spelling."""
        return api_version.removeprefix(self.prefix)

    def crd_name_up(self, name: str) -> str:
        """Return ``PLURAL.GROUP`` with the group in upstream spelling."""
        plural, dot, group = name.partition(".")
        # Without a group it cannot be the name of a CustomResourceDefinition.
        return f"{plural}{dot}{self.prefix}{group}" if dot else name

    def crd_name_down(self, name: str) -> str | None:
        """Return ``PLURAL.GROUP`` in tenant spelling, or None if the CRD is another's."""
        plural, dot, group = name.partition(".")
        if not dot:
            return name
        if not group.startswith(self.prefix):
            return None
        return f"{plural}{dot}{group[len(self.prefix) :]}"

    def for_write_of(self, definition: str) -> "TenantView":
        """Return the view for a write of a definition, whose webhook may not be asked now."""
        plural, _, group = definition.partition(".")
        if self.webhook_route is None or GroupResource(group, plural) not in self.unconverted:
            return self
        return replace(self, webhook_route=replace(self.webhook_route, verbatim=True))

    def user_up(self, user: str) -> str:
        """Return a user name in upstream spelling, which is no user of the platform."""
        if user.startswith(SERVICE_ACCOUNT_PREFIX):
            namespace, colon, name = user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
            return f"{SERVICE_ACCOUNT_PREFIX}{self.namespace_up(namespace)}{colon}{name}"
        return self.identity_prefix + user

    def user_down(self, user: str) -> str | None:
        """Return a user name in tenant spelling, or None if it is not this tenant's."""
        if user.startswith(SERVICE_ACCOUNT_PREFIX):
            namespace, colon, name = user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
            below = self.namespace_down(namespace)
            return below and f"{SERVICE_ACCOUNT_PREFIX}{below}{colon}{name}"
        return self._identity_down(user)

    def user_group_up(self, group: str) -> str:
        """Return a group of users in upstream spelling, which is no group of the platform."""
        if group.startswith(SERVICE_ACCOUNTS_GROUP):
            namespace = group.removeprefix(SERVICE_ACCOUNTS_GROUP)
            return SERVICE_ACCOUNTS_GROUP + self.namespace_up(namespace)
        return self.identity_prefix + group

    def user_group_down(self, group: str) -> str | None:
        """Return a group of users in tenant spelling, or None if it is not this tenant's."""
        if group.startswith(SERVICE_ACCOUNTS_GROUP):
            below = self.namespace_down(group.removeprefix(SERVICE_ACCOUNTS_GROUP))
            return below and SERVICE_ACCOUNTS_GROUP + below
        return self._identity_down(group)

    def _identity_down(self, name: str) -> str | None:
        if not name.startswith(self.identity_prefix):
            return None
        return name[len(self.identity_prefix) :]
