"""The rights that the gateway's account needs on the platform, and some that it must not have."""

from collections.abc import Iterator

from msgspec import Struct

from lnamespace.kube.prefixed import ALL_KINDS
from lnamespace.kube.resources import NAMESPACE, RBAC, RESOURCE_QUOTA
from lnamespace.model import lcluster
from lnamespace.model.names import Names
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.names.acting_users import ACTING_EXTRA, PERSON_EXTRA, STORED_EXTRA
from lnamespace.translate.protocol.verbs import READ_VERBS

_WATCHED = ("list", "watch")
_WRITTEN = (*_WATCHED, "create", "update", "patch", "delete")
OWN_KINDS = (NAMESPACE, *(each for each in ALL_KINDS if each.plural != "ipaddresses"))
"""The cluster-scoped kinds that LClusters have objects of; as in the chart's ``gatewayKinds``."""


class AccountRight(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A right, in the words of a SubjectAccessReview."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        named = f"{what}.{self.group}" if self.group else what
        named += f" {self.name}" if self.name else ""
        return f"{self.verb} {named}" + (f" in {self.namespace}" if self.namespace else "")


def needed_rights(
    names: Names, account: str, published: Published | None = None
) -> tuple[AccountRight, ...]:
    """Return the rights without which some request of an LCluster fails.

    Parameters
    ----------
    account
        The gateway's ServiceAccount, as NAMESPACE/NAME.
    published
        The objects that every LCluster is to see; None for the defaults.
    """
    custom = (published or Published()).custom_names
    shared = (AccountRight(v, each.group, each.plural) for each in custom for v in READ_VERBS)
    return (*_needed(names, account), *sorted(shared, key=str))


def _needed(names: Names, account: str) -> Iterator[AccountRight]:
    for verb in _WATCHED:
        yield AccountRight(verb, names.group, lcluster.PLURAL)
        yield AccountRight(verb, RBAC, "roles")
        yield AccountRight(verb, RBAC, "rolebindings")
        yield AccountRight(verb, resource=RESOURCE_QUOTA.plural)
    for kind in OWN_KINDS:
        yield from (AccountRight(verb, kind.group, kind.plural) for verb in _WRITTEN)
    yield AccountRight("escalate", RBAC, "clusterroles")
    yield AccountRight("bind", RBAC, "clusterroles")
    yield AccountRight("create", "authentication.k8s.io", "tokenreviews")
    yield AccountRight("create", "authorization.k8s.io", "subjectaccessreviews")
    for extra in (PERSON_EXTRA, ACTING_EXTRA, STORED_EXTRA):
        yield AccountRight("impersonate", "authentication.k8s.io", "userextras", extra)
    itself = tuple(account.split("/"))
    for namespace, name in ((names.clusters_namespace, "acme"), itself):
        yield AccountRight(
            "impersonate", resource="serviceaccounts", namespace=namespace, name=name
        )


EXCESSIVE_RIGHTS = (
    AccountRight("get", resource="secrets"),
    AccountRight("create", resource="pods"),
    AccountRight("create", resource="pods", subresource="exec"),
    AccountRight("impersonate", resource="users"),
    AccountRight("impersonate", resource="groups"),
    AccountRight("impersonate", resource="serviceaccounts"),
    AccountRight("create", resource="nodes"),
)
"""Rights in the whole cluster with which a stolen token of the gateway reaches everybody."""
