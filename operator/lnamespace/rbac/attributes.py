"""Users, the attributes of a request, and the decision about it."""

from collections.abc import Mapping

from msgspec import Struct

from lnamespace.translate.protocol.quoting import go_quote
from lnamespace.translate.protocol.request import PathRequest, Query, ResourceRequest
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import ApiStatus, Refused

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
LCLUSTER_USERS = "lcluster:users"


class User(Struct, frozen=True):
    """A user in tenant spelling.

    Parameters
    ----------
    sudoer
        Whether this person is a sudoer of the LCluster at this moment: they may then impersonate
        themselves in group ``system:masters``.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}
    sudoer: bool = False


class Attributes(Struct, frozen=True):
    """A verb on a resource, or on a path if the resource is empty."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    resource_request: bool = True

    @property
    def combined_resource(self) -> str:
        """Return ``RESOURCE/SUBRESOURCE``, as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class AccessDecision(Struct, frozen=True):
    """The answer whether somebody may do something, and why; the words are Kubernetes'."""

    allowed: bool
    reason: str = ""


def path_attributes(verb: str, path: str) -> Attributes:
    """Return the attributes of a request for a path that is no object."""
    return Attributes(verb, path=path, resource_request=False)


def person(name: str, groups: tuple[str, ...] = (), *, sudoer: bool = False) -> User:
    """Return a person of the LCluster's users as the tenant's cluster knows them.

    Groups that begin with ``system:`` or ``lcluster:`` are not taken over from the platform.
    """
    own = tuple(each for each in groups if not each.startswith(("system:", "lcluster:")))
    return User(name, groups=(*own, LCLUSTER_USERS, AUTHENTICATED), sudoer=sudoer)


def service_account(
    namespace: str, name: str, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None
) -> User:
    """Return a ServiceAccount as a user, with the groups that each has."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", uid, groups, extra or {})


def request_attributes(request: ResourceRequest | PathRequest) -> Attributes:
    """Return the attributes of a request as the API server derives them from its URL."""
    if isinstance(request, PathRequest):
        return path_attributes(request.verb, request.path)
    resource, name = request.resource, request.name
    if not name and request.verb in {"list", "watch"}:
        name = _selected_name(request.query)
    return Attributes(
        request.verb,
        resource.group,
        request.version,
        resource.plural,
        request.subresource,
        request.authorization_namespace,
        name,
    )


def _selected_name(query: Query) -> str:
    """Return the one name that a field selector asks for, or an empty string."""
    selector = next((value for key, value in query if key == "fieldSelector"), "")
    if "\\" in selector:  # escaped: no name of an object needs that
        return ""
    for term in selector.split(","):
        field, equals, value = term.partition("=")
        if field == "metadata.name" and equals:
            name = value.removeprefix("=")
            return "" if name in {".", ".."} or set(name) & set("/%=!") else name
    return ""


def access_denied(user: User, attributes: Attributes, reason: str = "") -> Refused:
    """Return the refusal of a request that a user may not make, as the API server words it."""
    message = _sanitized(_cannot(user, attributes)) + (f": {reason}" if reason else "")
    resource = GroupResource(attributes.group, attributes.resource)
    details = {"name": attributes.name, "group": resource.group, "kind": resource.plural}
    subject = str(resource) if resource.plural or resource.group else ""
    if subject and attributes.name:
        subject = f"{subject} {go_quote(attributes.name)}"
    text = f"{subject} is forbidden: {message}" if subject else f"forbidden: {message}"
    known = {key: value for key, value in details.items() if value}
    return Refused(ApiStatus(403, "Forbidden", text, known))


def _cannot(user: User, attributes: Attributes) -> str:
    who = f"User {go_quote(user.name)} cannot {attributes.verb}"
    if not attributes.resource_request:
        return f"{who} path {go_quote(attributes.path)}"
    what = f"resource {go_quote(attributes.combined_resource)}"
    where = f"in API group {go_quote(attributes.group)}"
    if attributes.namespace:
        return f"{who} {what} {where} in the namespace {go_quote(attributes.namespace)}"
    return f"{who} {what} {where} at the cluster scope"


def _sanitized(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
