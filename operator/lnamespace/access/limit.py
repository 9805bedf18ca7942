"""How many LNamespaces one requester may have. Pure.

Who asked for an LNamespace is stamped by the door and never changes, so nobody can spend what is
another's. A ServiceAccount is different: whoever may work in a namespace makes as many of them as
they like, and each would be somebody new. So where there is a limit, ServiceAccounts have none at
all but what an exception gives them, by name or for all of their namespace together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX

_NAMESPACE_GROUP = "system:serviceaccounts:"
"""The group of all ServiceAccounts of a namespace, as Kubernetes calls it."""


@dataclass(frozen=True)
class Limits:
    """The limit of ``each`` requester, 0 for none, and that of some by their user names."""

    each: int = 0
    exceptions: Mapping[str, int] = field(default_factory=dict)

    @property
    def exist(self) -> bool:
        """Whether anybody is limited."""
        return any((self.each, *self.exceptions.values()))

    def account(self, requester: str) -> str:
        """To whom it is counted: the requester, or all ServiceAccounts of a namespace."""
        if requester in self.exceptions or not requester.startswith(SERVICE_ACCOUNT_PREFIX):
            return requester
        home = requester.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")[0]
        together = _NAMESPACE_GROUP + home
        return together if together in self.exceptions else requester

    def of(self, account: str) -> int | None:
        """How many it may have; None for as many as it likes."""
        if account in self.exceptions:
            return self.exceptions[account] or None
        if self.each and account.startswith(SERVICE_ACCOUNT_PREFIX):
            return 0
        return self.each or None

    def exceeded(self, requester: str, used: int) -> str:
        """Why one more is refused to whoever has ``used`` already, or nothing."""
        limit = self.of(self.account(requester))
        return "" if limit is None or used < limit else self.refusal(requester, used)

    def refusal(self, requester: str, used: int) -> str:
        """Why there is none for the requester, how many of how many, and what to do."""
        account = self.account(requester)
        limit = self.of(account) or 0
        if not limit:
            return (
                f'exceeded limit: "{requester}" is a ServiceAccount, which may have LNamespaces '
                "only where a cluster administrator says how many (limitExceptions)"
            )
        return (
            f'exceeded limit: "{account}" has {max(used, limit)} of {limit} LNamespaces; delete '
            "one that is no longer needed, or ask a cluster administrator for more"
        )
