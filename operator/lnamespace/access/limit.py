"""Limit how many LNamespaces, and how many LClusters, one requester may have.

The webhook writes the requester into each of them and nobody can change it, so nobody can use
up another's limit. ServiceAccounts are counted differently, because everybody who works in a
namespace can create as many as they like: all ServiceAccounts of a namespace count as one account,
and those of an LNamespace's or LCluster's Namespace count to the account of that, which the webhook
writes beside the requester (``spec.countedTo``). Otherwise each namespace would bring a limit of
its own, and so would every namespace created from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX, SubjectKind, subject_of_username
from lnamespace.runtime.texts import first_names
from lnamespace.settings import Settings

_NAMESPACE_GROUP = "system:serviceaccounts:"
"""The group of all ServiceAccounts of a namespace, as Kubernetes calls it."""


@dataclass(frozen=True)
class RequesterLimits:
    """The limit of ``each`` requester, and exceptions by user name; 0 is no limit.

    Parameters
    ----------
    plural
        What they are limits of, as people say it.
    listing
        The command that shows what somebody has, where the refusal is to name it.
    """

    each: int = 0
    exceptions: Mapping[str, int] = field(default_factory=dict)
    plural: str = "LNamespaces"
    listing: str = ""

    @property
    def any_limited(self) -> bool:
        """Return whether anybody is limited."""
        return any((self.each, *self.exceptions.values()))

    def account(self, requester: str) -> str:
        """Return the account of a requester: a user, or all ServiceAccounts of a namespace."""
        subject = subject_of_username(requester)
        if requester in self.exceptions or subject.kind is not SubjectKind.SERVICE_ACCOUNT:
            return requester
        return _NAMESPACE_GROUP + subject.namespace

    def depends_on_namespace(self, requester: str) -> bool:
        """Return whether the Namespace of a ServiceAccount decides to which account it counts."""
        if not self.any_limited or not requester.startswith(SERVICE_ACCOUNT_PREFIX):
            return False
        return not {requester, self.account(requester)} & set(self.exceptions)

    def inherited_account(self, account: str) -> str:
        """Return the account to which ServiceAccounts in a Namespace of ``account`` count.

        Empty if that account has no limit: it creates namespaces for others, whose ServiceAccounts
        count to accounts of their own.
        """
        return account if self.limit_for(self.account(account)) is not None else ""

    def limit_for(self, account: str) -> int | None:
        """Return how many an account may have; None if it has no limit."""
        if account in self.exceptions:
            return self.exceptions[account] or None
        return self.each or None

    def exceeded(self, requester: str, used: int) -> str:
        """Return why a requester who has ``used`` gets no more; empty if they do."""
        limit = self.limit_for(self.account(requester))
        return "" if limit is None or used < limit else self.refusal(requester, used)

    def refusal(self, requester: str, used: int) -> str:
        """Return the message that refuses a requester one more."""
        account = self.account(requester)
        listing = f" (see: {self.listing})" if self.listing else ""
        return (
            f'exceeded limit: "{account}" has {max(used, self.limit_for(account) or 0)} of '
            f"{self.limit_for(account) or 0} {self.plural}; "
            f"delete one that is no longer needed{listing}, "
            "or ask a cluster administrator for more"
        )


def lnamespace_limits(settings: Settings) -> RequesterLimits:
    """Return the limits of LNamespaces for each requester."""
    return RequesterLimits(settings.limit_per_requester, settings.limits_by_name)


def lcluster_limits(settings: Settings) -> RequesterLimits:
    """Return how many LClusters somebody may have; no limit where there are none."""
    each, exceptions = settings.lcluster_limit_per_requester, settings.lcluster_limits_by_name
    if settings.lclusters != "yes":
        each, exceptions = 0, {}
    return RequesterLimits(each, exceptions, "LClusters", "kubectl get lc")


def describe_orphans(names: Sequence[str]) -> str:
    """Return the part of a refusal about Namespaces that count and whose LNamespaces are gone.

    The requester can neither see nor delete them, so the message says whom to ask.
    """
    if not names:
        return ""
    return (
        f". It counts what deleted LNamespaces have left ({first_names(names)}): ask a "
        "cluster administrator to delete it or to have a new LNamespace adopt it"
    )
