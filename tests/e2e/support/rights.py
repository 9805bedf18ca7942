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
        """As a review asks it."""
        return {key: value for key, value in vars(self).items() if value}


class Rights:
    """A client that asks the authorizer about any user."""

    def __init__(self, admin: Api) -> None:
        self._admin = admin

    def may(self, who: Who, deed: Deed) -> bool:
        """What the API server would answer them."""
        spec = {"user": who.user, "groups": who.groups, "resourceAttributes": deed.attributes()}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        answer = self._admin.create(_REVIEWS, body | {"spec": spec})
        return bool(answer["status"]["allowed"])

    def works(self, who: Who, namespace: str) -> bool:
        """Whether they have a user's rights in a namespace."""
        return self.may(who, work(namespace))

    def edits(self, who: Who, name: str) -> bool:
        """Whether they have a manager's rights on an LNamespace."""
        return self.may(who, edit(name))

    def sudoes(self, who: Who, namespace: str) -> bool:
        """Whether they can do with sudo what only a sudoer can: all three steps of it."""
        return all(
            (
                self.may(who, become(who)),
                self.may(who, Deed("impersonate", "groups", name=f"{namespace}-sudoers")),
                self.may(who.sudo(namespace), rule(namespace)),
            )
        )


def work(namespace: str) -> Deed:
    """What a user may do, and nobody else without sudo."""
    return Deed("create", "pods", namespace)


def rule(namespace: str) -> Deed:
    """What only a cluster admin may do in a namespace: not even its users."""
    return Deed("create", "resourcequotas", namespace)


def edit(name: str) -> Deed:
    """What a manager may do."""
    return Deed("update", "lnamespaces", name=name, group=GROUP)


def bind(namespace: str) -> Deed:
    """Giving rights away inside a namespace."""
    return Deed("create", "rolebindings", namespace, group=_RBAC)


def become(who: Who) -> Deed:
    """Impersonating somebody."""
    if not who.user.startswith("system:serviceaccount:"):
        return Deed("impersonate", "users", name=who.user)
    _, _, namespace, name = who.user.split(":")
    return Deed("impersonate", "serviceaccounts", namespace, name)
