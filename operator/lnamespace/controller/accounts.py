"""Check that a ServiceAccount exists before a Role for it is written into its namespace.

Anybody may list any name. Roles for 200 accounts that did not exist once used up the quota of
another team's namespace.
"""

from collections.abc import Collection
from dataclasses import dataclass

from lnamespace.access.conventions import Conventions
from lnamespace.access.ownership import Ownership, determine_ownership
from lnamespace.controller.cache import Cache
from lnamespace.errors import Invalid, NoNamespace, NoServiceAccount, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.resources import NAMESPACE, ROLE_BINDING, SERVICE_ACCOUNT
from lnamespace.model.names import SUDOERS_BINDING, USERS_BINDING
from lnamespace.model.rules import name_problem
from lnamespace.model.subject import Subject

NEVER = ("kube-*", "lnamespace", "lnamespace-*")
"""Patterns of the system's namespaces and of ours, whose ServiceAccounts cannot be sudoers.

Programs of the platform can, such as the GitOps controller in openshift-gitops.
"""


@dataclass(frozen=True)
class Accounts:
    """A check of ServiceAccounts by name: the right to list them would show those of everybody."""

    client: Client
    cache: Cache
    conventions: Conventions

    async def check(self, subject: Subject, sponsors: Collection[str]) -> None:
        """Check that a ServiceAccount exists, and that its turn has come.

        An LNamespace may list a ServiceAccount of its own Namespace before that account exists: the
        objects for it are written into the LNamespace's own Namespace.

        Raises
        ------
        ClusterError
            The ServiceAccount is not there, its turn has not come, or it cannot be read;
            :class:`NoServiceAccount` if it may be created later.
        """
        name, namespace = subject.name, subject.namespace
        if name_problem(namespace, NEVER):
            raise Invalid(f'the ServiceAccounts of namespace "{namespace}" cannot be sudoers')
        found = self.cache.get(NAMESPACE, ("", namespace))
        if found is None:
            raise NoNamespace(f'there is no namespace "{namespace}"')
        lns = self.cache.of_our_class(self.cache.lnamespace(namespace))
        if lns and determine_ownership(lns, found, self.conventions) is Ownership.OURS:
            if not self._has_bindings(namespace):
                raise NoNamespace(f'namespace "{namespace}" has no access of its own yet')
            if namespace in sponsors:
                return
        try:
            await self.client.get(SERVICE_ACCOUNT.path(name, namespace))
        except NotFound as error:
            words = f'there is no ServiceAccount "{name}" in namespace "{namespace}"'
            raise NoServiceAccount(words, status=404) from error

    def _has_bindings(self, namespace: str) -> bool:
        """Return whether the LNamespace has its own bindings, which are written first."""
        bindings = (USERS_BINDING, SUDOERS_BINDING)
        return all(self.cache.get(ROLE_BINDING, (namespace, one)) for one in bindings)
