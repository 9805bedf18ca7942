"""The rights of a tenant's people that rest on no object which the tenant could change."""

from collections.abc import Iterable

from lnamespace.rbac.aggregation import Rules
from lnamespace.rbac.attributes import AUTHENTICATED, LCLUSTER_USERS, MASTERS, SERVICE_ACCOUNTS
from lnamespace.rbac.objects import AccessRule, BindingSubject, RbacBinding, RoleReference, Strings
from lnamespace.rbac.rules import EVERYTHING
from lnamespace.rbac.store import BaseAccess, BindingSet
from lnamespace.translate.protocol.resources import ResourceTable, ResourceType, ServingPolicy

_ISSUER_DISCOVERY = "system:service-account-issuer-discovery"
_READ = ("get", "list", "watch")
_ALIVE = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_PUBLIC = AccessRule(verbs=("get",), non_resource_urls=_ALIVE)
_DISCOVERY = AccessRule(
    verbs=("get",),
    non_resource_urls=(
        *("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*"),
        *("/readyz", "/version", "/version/"),
    ),
)
_ISSUER = AccessRule(
    verbs=("get",),
    non_resource_urls=(
        *("/.well-known/openid-configuration", "/.well-known/openid-configuration/"),
        *("/openid/v1/jwks", "/openid/v1/jwks/"),
    ),
)
_BASIC = (
    AccessRule(
        verbs=("create",),
        api_groups=("authorization.k8s.io",),
        resources=("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    ),
    AccessRule(
        verbs=("create",), api_groups=("authentication.k8s.io",), resources=("selfsubjectreviews",)
    ),
)
_OWN_CLUSTER = (
    AccessRule(
        verbs=("*",),
        api_groups=("",),
        resources=("namespaces", "namespaces/finalize", "namespaces/status"),
    ),
    AccessRule(
        verbs=("*",),
        api_groups=("apiextensions.k8s.io",),
        resources=("customresourcedefinitions", "customresourcedefinitions/status"),
    ),
)
_ROLES: dict[str, Rules] = {
    "cluster-admin": EVERYTHING,
    "system:basic-user": _BASIC,
    "system:discovery": (_DISCOVERY,),
    "system:public-info-viewer": (_PUBLIC,),
    _ISSUER_DISCOVERY: (_ISSUER,),
}
_BINDINGS = (
    ("cluster-admin", "cluster-admin", MASTERS),
    ("system:basic-user", "system:basic-user", AUTHENTICATED),
    ("system:discovery", "system:discovery", AUTHENTICATED),
    ("system:public-info-viewer", "system:public-info-viewer", AUTHENTICATED),
    (_ISSUER_DISCOVERY, _ISSUER_DISCOVERY, SERVICE_ACCOUNTS),
    # The published ClusterRole: a tenant's own ClusterRoles add to it by aggregation.
    (f"{LCLUSTER_USERS}:admin", "admin", LCLUSTER_USERS),
    (LCLUSTER_USERS, LCLUSTER_USERS, LCLUSTER_USERS),
)


def base_access(table: ResourceTable) -> BaseAccess:
    """Return the rights of everybody, and of the LCluster's users, to these resources.

    Every authenticated user has what Kubernetes gives them. The LCluster's users have ClusterRole
    ``admin`` everywhere, all of Namespaces, CustomResourceDefinitions and the tenant's own custom
    resources, and may read everything that is cluster-scoped.
    """
    users = (*_OWN_CLUSTER, *_custom(table.types), *_cluster_scoped(table.types))
    bindings = (
        RbacBinding(name, RoleReference("ClusterRole", role), "", (BindingSubject("Group", group),))
        for name, role, group in _BINDINGS
    )
    return BaseAccess(
        {**_ROLES, LCLUSTER_USERS: users},
        BindingSet({binding.name: binding for binding in bindings}),
    )


def _custom(types: Iterable[ResourceType]) -> list[AccessRule]:
    """Return all rights on custom resources.

    Each is named, so that a rule holds for no other resource of its group.
    """
    served = [each for each in types if each.custom and each.policy is not ServingPolicy.HIDDEN]
    return [
        AccessRule(verbs=("*",), api_groups=(group,), resources=(*plurals, *_subresources(plurals)))
        for group, plurals in _plurals(served).items()
    ]


def _subresources(plurals: Strings) -> list[str]:
    return [f"{plural}/{each}" for plural in plurals for each in ("scale", "status")]


def _cluster_scoped(types: Iterable[ResourceType]) -> list[AccessRule]:
    served = [
        each for each in types if not each.namespaced and each.policy is not ServingPolicy.HIDDEN
    ]
    return [
        AccessRule(verbs=_READ, api_groups=(group,), resources=plurals)
        for group, plurals in _plurals(served).items()
    ]


def _plurals(types: Iterable[ResourceType]) -> dict[str, Strings]:
    groups: dict[str, set[str]] = {}
    for each in types:
        groups.setdefault(each.group, set()).add(each.plural)
    return {group: tuple(sorted(groups[group])) for group in sorted(groups)}
