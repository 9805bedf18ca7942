"""Judge the state of the platform's cluster: find leaks into LClusters, and collisions."""

from collections.abc import Callable, Iterable, Iterator

from lnamespace.gateway.check.finding import CheckFinding, Severity, group_of, name_all, name_some
from lnamespace.gateway.check.kind_findings import find_kind_problems
from lnamespace.gateway.check.publication import find_publication_problems
from lnamespace.gateway.check.state import FENCES, PlatformState
from lnamespace.kube.prefixed import ClusterObject
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.model.lcluster import PLURAL, RESERVED_TENANTS, tenant_of_name
from lnamespace.translate.protocol.protobuf.schema import schema_file

_OLDEST = (1, 30)
_RIGHTS = 3
"""The most rights in one cell: an old role may lack a hundred."""

_EVERY_ACCOUNT = ("system:authenticated", "system:serviceaccounts", "system:unauthenticated")
_ROLES_OF_EVERYBODY = frozenset(
    {
        "system:basic-user",
        "system:discovery",
        "system:public-info-viewer",
        "system:service-account-issuer-discovery",
    }
)
"""The ClusterRoles that every API server gives to everybody."""

_MUTATING = frozenset(
    f"admissionregistration.k8s.io/{version} MutatingAdmissionPolicy"
    for version in ("v1", "v1beta1")
)
"""The kind by which the chart leads programs in pods to the gateway."""


def find_problems(state: PlatformState) -> tuple[CheckFinding, ...]:
    """Return all findings, the worst first."""
    found = [finding for rule in _RULES for finding in rule(state)]
    return tuple(sorted(found, key=lambda each: list(Severity).index(each.severity)))


def _version(state: PlatformState) -> Iterator[CheckFinding]:
    if state.version is None:
        return
    major, minor = state.version
    if state.version < _OLDEST:
        yield CheckFinding(
            Severity.PROBLEM,
            f"Kubernetes {major}.{minor}",
            "it has no ValidatingAdmissionPolicies, which bound what the gateway writes",
            "update it to 1.30 or newer",
        )
    known = schema_file().kubernetes
    if state.version > tuple(int(part) for part in known.split(".")[:2]):
        yield CheckFinding(
            Severity.WARNING,
            f"Kubernetes {major}.{minor}",
            f"this release of LNamespace knows the kinds of {known}",
            "update LNamespace before the cluster",
        )


def _collisions(state: PlatformState) -> Iterator[CheckFinding]:
    """Report objects whose names have the prefix of an LCluster and are not its own."""
    tenants = state.lclusters
    for each in state.objects:
        tenant = tenant_of_name(_named(each))
        if tenant in tenants and state.label_of(each) != tenant:
            yield _collision(tenant, str(each))
    for group in sorted(state.aggregated):
        if (tenant := tenant_of_name(group)) in tenants:
            yield _collision(tenant, f"apiservices of {group}")
    for name in state.lnamespaces:
        if (tenant := tenant_of_name(name)) in tenants:
            yield _collision(tenant, f"lnamespaces {name}")


def _collision(tenant: str, about: str) -> CheckFinding:
    return CheckFinding(
        Severity.PROBLEM,
        about,
        f"the name begins as those of LCluster {tenant}, whose object it is not",
        "rename it, or delete the LCluster",
    )


def _foreign_labels(state: PlatformState) -> Iterator[CheckFinding]:
    if PLURAL in state.unread:
        return  # Each of them may be there.
    for each in state.objects:
        tenant = state.label_of(each)
        if tenant and tenant not in state.lclusters:
            yield CheckFinding(
                Severity.WARNING,
                str(each),
                f"it has the label of LCluster {tenant}, which there is not",
                f"delete it, or take the label {state.names.lcluster_label} from it",
            )


def _taken_names(state: PlatformState) -> Iterator[CheckFinding]:
    names = [_named(each) for each in state.objects if not state.label_of(each)]
    begun = {tenant_of_name(name) for name in (*names, *state.lnamespaces)}
    if taken := begun - {""} - set(RESERVED_TENANTS) - state.lclusters:
        some = name_all(taken)
        yield CheckFinding(
            Severity.NOTE,
            "names",
            f"no LCluster can be called {some}: objects of the platform begin so",
            long=some,
        )


def _everybody(state: PlatformState) -> Iterator[CheckFinding]:
    """Report rights of groups that every ServiceAccount of an LCluster is in."""
    groups = {*_EVERY_ACCOUNT, f"system:serviceaccounts:{state.names.clusters_namespace}"}
    # The chart's own roles: to read LNamespaces, and the address and CA of the gateway.
    ours = {("", f"{state.names.prefix}:authenticated")}
    ours |= {("kube-public", f"{state.names.prefix}-gateway")}
    for binding in state.bindings:
        given = {each.name for each in binding.subjects if each.kind == "Group"} & groups
        known = binding.role in _ROLES_OF_EVERYBODY or (binding.namespace, binding.role) in ours
        if given and not known:
            yield CheckFinding(
                Severity.WARNING,
                str(binding),
                f"gives {binding.role} to {name_some(given)}: the pods of every LCluster have it",
                "bind it to a group of your people",
            )


def _discovery(state: PlatformState) -> Iterator[CheckFinding]:
    """Report who may read the groups, kinds and schemas of all LClusters' definitions."""
    for binding in state.bindings:
        groups = {each.name for each in binding.subjects if each.kind == "Group"}
        if binding.role == "system:discovery" and groups & {*_EVERY_ACCOUNT}:
            yield CheckFinding(
                Severity.WARNING,
                str(binding),
                "programs of every LCluster read at the platform's API server which groups and "
                "kinds the others have, with their schemas",
                'see "What LClusters are not protected from" in docs/lcluster-security.md',
            )


def _accounts(state: PlatformState) -> Iterator[CheckFinding]:
    for name in state.accounts:
        if name != "default":
            yield CheckFinding(
                Severity.PROBLEM,
                f"serviceaccounts {state.names.clusters_namespace}/{name}",
                f"a token of it is everything that LCluster {name} is",
                "delete it: no account of that namespace needs to exist",
            )


def _client_certificates(state: PlatformState) -> Iterator[CheckFinding]:
    if state.client_authorities is False:
        yield CheckFinding(
            Severity.WARNING,
            "configmaps kube-system/extension-apiserver-authentication",
            "it has no client-ca-file: client certificates of the platform are no logins to "
            "LClusters",
            "where people log in by certificates, start the API server with --client-ca-file",
        )


def _pods(state: PlatformState) -> Iterator[CheckFinding]:
    """Report whether programs in pods of LClusters reach the gateway, and trust it."""
    if state.kinds and not _MUTATING & state.kinds:
        yield CheckFinding(
            Severity.NOTE,
            "pods",
            "programs in pods of LClusters ask the platform's API server: this Kubernetes has no "
            "MutatingAdmissionPolicies",
            'update it to 1.36 or newer, or see "Programs in pods" in docs/lclusters.md',
        )
    elif state.distrusting is None and state.has_gateway:
        yield CheckFinding(
            Severity.NOTE,
            "pods",
            "programs in pods of LClusters ask the platform's API server: the gateway has "
            "published no CA for them",
            "upgrade the chart's release with gateway.pods, and have the gateway run",
        )
    elif state.distrusting:
        some = name_all(state.distrusting)
        yield CheckFinding(
            Severity.WARNING,
            "configmaps kube-root-ca.crt",
            f"programs in pods of {some} do not trust the gateway",
            "delete them: Kubernetes makes them anew, with the gateway's CA",
            some,
        )


def _rights(state: PlatformState) -> Iterator[CheckFinding]:
    if not state.has_gateway:
        missing = state.account if state.served else f"LNamespaces of {state.names.group}"
        yield CheckFinding(
            Severity.NOTE,
            "the gateway",
            f"it is not installed yet: this cluster has no {missing}",
            "check again when it is: it may lack rights then",
        )
        return
    if state.missing:
        some = name_all(map(str, state.missing), _RIGHTS)
        yield CheckFinding(
            Severity.PROBLEM,
            state.account,
            f"it may not {some}",
            "upgrade the chart's release, which gives what the gateway needs",
            some,
        )
    for plural in FENCES:
        names = {each.metadata.name for each in state.objects if each.resource.plural == plural}
        if state.needed and state.fence not in names:
            yield CheckFinding(
                Severity.PROBLEM,
                f"{plural} {state.fence}",
                "it is missing, and nothing bounds what the gateway writes",
                "upgrade the chart's release",
            )


def _unread(state: PlatformState) -> Iterator[CheckFinding]:
    if state.unread:
        some = name_all(state.unread)
        yield CheckFinding(
            Severity.PROBLEM,
            "not checked",
            f"{some}: you may not read it, it does not answer, or its answer cannot be read",
            "run it as an administrator of the platform's cluster; mend what answers for it",
            some,
        )


def _excess(state: PlatformState) -> Iterator[CheckFinding]:
    if state.excessive:
        yield CheckFinding(
            Severity.PROBLEM,
            state.account,
            f"it may, in all namespaces, {name_some(map(str, state.excessive))}: whoever has "
            "its token reaches everybody",
            "take the binding away that gives it; the chart's do not",
        )


_RULES: tuple[Callable[[PlatformState], Iterable[CheckFinding]], ...] = (
    _version,
    _collisions,
    _accounts,
    find_kind_problems,
    _everybody,
    _discovery,
    _foreign_labels,
    _unread,
    _rights,
    _excess,
    _client_certificates,
    _pods,
    find_publication_problems,
    _taken_names,
)


def _named(found: ClusterObject) -> str:
    """Return the name that must not begin with a tenant's prefix; of a definition, its group."""
    if found.resource is CUSTOM_RESOURCE_DEFINITION:
        return group_of(found)
    return found.metadata.name
