"""People with certificates of their own, and service accounts with tokens."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.e2e.support.api import Api, ns_path
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import Result, run
from tests.e2e.support.logins import with_certificate

AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True)
class Who:
    """A user as the authorizer knows them; a user need not exist to be asked about."""

    user: str
    groups: tuple[str, ...] = (AUTHENTICATED,)

    def sudo(self, namespace: str) -> "Who":
        """Return the user of `kubectl sudo`: the same one, in that group only."""
        return Who(self.user, (f"{namespace}-sudoers", AUTHENTICATED))


def user(name: str, *groups: str) -> Who:
    """Return a user in groups."""
    return Who(name, (*groups, AUTHENTICATED))


def account(namespace: str, name: str) -> Who:
    """Return a service account."""
    every = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return Who(f"system:serviceaccount:{namespace}:{name}", every)


@dataclass(frozen=True)
class Person:
    """A user who can log in."""

    who: Who
    kubeconfig: Path
    cluster: Cluster

    @property
    def name(self) -> str:
        """Return the name by which the API server knows the person."""
        return self.who.user

    @cached_property
    def api(self) -> Api:
        """Return a client of the person."""
        return Api(self.kubeconfig)

    def sudo(self, namespace: str) -> Api:
        """Return a client with the headers that `kubectl sudo` sends."""
        return self.api.acting(self.name, f"{namespace}-sudoers")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the person's shell."""
        return self.cluster.environment | {"KUBECONFIG": str(self.kubeconfig)}

    def run(self, *command: str, stdin: str | None = None, **more: str) -> Result:
        """Run a command with their kubeconfig; further variables by name."""
        return run(*command, env=self.environment | more, stdin=stdin)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> Result:
        """Run kubectl, and so its plugins, with their kubeconfig."""
        return self.run("kubectl", *arguments, stdin=stdin)


class People:
    """All users of one cluster, each made once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, ...], Person] = {}

    def person(self, name: str, *groups: str) -> Person:
        """Return a user with a certificate."""
        key = (name, *groups)
        if key not in self._known:
            path = with_certificate(self._cluster.admin, *key)
            self._known[key] = Person(user(name, *groups), path, self._cluster)
        return self._known[key]

    def account(self, namespace: str, name: str) -> Person:
        """Return a service account with a token; it is created if it does not exist."""
        key = ("", namespace, name)
        if key not in self._known:
            body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
            if not self._cluster.admin.find(ns_path(namespace, "serviceaccounts", name)):
                self._cluster.admin.create(ns_path(namespace, "serviceaccounts"), body)
            path = self._cluster.token(namespace, name)
            self._known[key] = Person(account(namespace, name), path, self._cluster)
        return self._known[key]
