"""How many LNamespaces one requester may have. Pure.

Who asked for an LNamespace is stamped by the webhook and never changes, so nobody can spend what is
another's. A ServiceAccount is different: everybody who works in a namespace makes as many as they
like, and each would be somebody new. So all ServiceAccounts of a namespace are counted together,
and those of an LNamespace's own namespace to the account that this Namespace is counted to, which
the webhook stamps beside the requester (``spec.countedTo``). Otherwise each namespace would be
worth a limit of its own, and so would those made from it, without end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX

NAMED = 5
"""So many Namespaces are named in a message; more would make it unreadable."""

_NAMESPACE_GROUP = "system:serviceaccounts:"
"""The group of all ServiceAccounts of a namespace, as Kubernetes calls it."""


@dataclass(frozen=True)
class RequesterLimits:
    """The limit of ``each`` requester, 0 for none, and that of some by their user names."""

    each: int = 0
    exceptions: Mapping[str, int] = field(default_factory=dict)

    @property
    def any_limited(self) -> bool:
        """Whether anybody is limited."""
        return any((self.each, *self.exceptions.values()))

    def account(self, requester: str) -> str:
        """Return to whom it is counted: the requester, or all ServiceAccounts of a namespace."""
        if requester in self.exceptions or not requester.startswith(SERVICE_ACCOUNT_PREFIX):
            return requester
        return _NAMESPACE_GROUP + requester.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")[0]

    def depends_on_namespace(self, requester: str) -> bool:
        """Return whether it depends on where a ServiceAccount lives to whom it is counted."""
        if not self.any_limited or not requester.startswith(SERVICE_ACCOUNT_PREFIX):
            return False
        return not {requester, self.account(requester)} & set(self.exceptions)

    def inherited_account(self, account: str) -> str:
        """Return to whom it is counted what ServiceAccounts in a Namespace of ``account`` create.

        Empty, for themselves, where that account has no limit: it makes namespaces for others, and
        these others are to have one.
        """
        return account if self.of(self.account(account)) is not None else ""

    def of(self, account: str) -> int | None:
        """How many it may have; None for as many as it likes."""
        if account in self.exceptions:
            return self.exceptions[account] or None
        return self.each or None

    def exceeded(self, requester: str, used: int) -> str:
        """Why one more is refused to whoever has ``used`` already, or nothing."""
        limit = self.of(self.account(requester))
        return "" if limit is None or used < limit else self.refusal(requester, used)

    def refusal(self, requester: str, used: int) -> str:
        """Why there is none for the requester, how many of how many, and what to do."""
        account = self.account(requester)
        return (
            f'exceeded limit: "{account}" has {max(used, self.of(account) or 0)} of '
            f"{self.of(account) or 0} LNamespaces; delete one that is no longer needed, or ask a "
            "cluster administrator for more"
        )


def describe_orphans(names: Sequence[str]) -> str:
    """Return what to add about Namespaces that take slots and whose LNamespaces are gone.

    Whoever asked for them may neither see nor delete them, so they have to be told what to ask for.
    """
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return (
        f". It counts what deleted LNamespaces have left ({', '.join(names[:NAMED])}{more}): ask a "
        "cluster administrator to delete it or to have a new LNamespace adopt it"
    )
