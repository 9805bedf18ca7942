"""Who may do what: always the API server's own answer."""

from dataclasses import dataclass

from tests.e2e.support.api import GROUP, Api, Object
from tests.e2e.support.people import Who

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Deed:
    """An action that a user may do or not; no namespace means cluster-wide."""

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    group: str = ""
    subresource: str = ""

    def attributes(self) -> Object:
        """Return the resource attributes of an access review."""
        return {key: value for key, value in vars(self).items() if value}


class Rights:
    """A client that asks the authorizer about any user."""

    def __init__(self, admin: Api) -> None:
        self._admin = admin

    def may(self, who: Who, deed: Deed) -> bool:
        """Return the API server's answer about an action of a user."""
        spec = {"user": who.user, "groups": who.groups, "resourceAttributes": deed.attributes()}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        answer = self._admin.create(_REVIEWS, body | {"spec": spec})
        return bool(answer["status"]["allowed"])

    def works(self, who: Who, namespace: str) -> bool:
        """Return whether a person has a user's rights in a namespace."""
        return self.may(who, work(namespace))

    def edits(self, who: Who, name: str) -> bool:
        """Return whether a person has a manager's rights on an LNamespace."""
        return self.may(who, edit(name))

    def sudoes(self, who: Who, namespace: str) -> bool:
        """Return whether a person can do with sudo what only a sudoer can, in all three steps."""
        return all(
            (
                self.may(who, become(who)),
                self.may(who, Deed("impersonate", "groups", name=f"{namespace}-sudoers")),
                self.may(who.sudo(namespace), rule(namespace)),
            )
        )


def work(namespace: str) -> Deed:
    """Return an action that users may do, and nobody else without sudo."""
    return Deed("create", "pods", namespace)


def rule(namespace: str) -> Deed:
    """Return an action that only a cluster admin may do in a namespace, and no user."""
    return Deed("create", "resourcequotas", namespace)


def edit(name: str) -> Deed:
    """Return an action that managers may do."""
    return Deed("update", "lnamespaces", name=name, group=GROUP)


def bind(namespace: str) -> Deed:
    """Return the action that gives rights away inside a namespace."""
    return Deed("create", "rolebindings", namespace, group=_RBAC)


def become(who: Who) -> Deed:
    """Return the impersonation of a user."""
    if not who.user.startswith("system:serviceaccount:"):
        return Deed("impersonate", "users", name=who.user)
    _, _, namespace, name = who.user.split(":")
    return Deed("impersonate", "serviceaccounts", namespace, name)
