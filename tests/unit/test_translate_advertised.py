"""What discovery advertises is what is served, and nothing else of the API server is."""

from collections.abc import Iterator

from lnamespace.translate.discovery.documents import tenant_discovery
from lnamespace.translate.discovery.groups import DiscoveredGroup, TenantGroups, resource_table
from lnamespace.translate.protocol.request import ResourceRequest, parse_request
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.upstream import discovered

NAMES = TenantGroups("acme")
TABLE = resource_table(discovered(), "acme")
ADVERTISED = tenant_discovery(discovered(), NAMES, TABLE)
METHODS = {
    "get": ("GET", "/n"),
    "list": ("GET", ""),
    "watch": ("GET", "?watch=true"),
    "create": ("POST", ""),
    "update": ("PUT", "/n"),
    "patch": ("PATCH", "/n"),
    "delete": ("DELETE", "/n"),
    "deletecollection": ("DELETE", ""),
}
Operation = tuple[str, str, str]
"""The verb, the method and the path of one request."""


def operations(groups: tuple[DiscoveredGroup, ...]) -> Iterator[Operation]:
    """Yield a request for every verb of every resource and subresource of some groups."""
    for group in groups:
        for version in group.versions:
            root = f"/apis/{group.name}" if group.name else "/api"
            for each in version.resources:
                scope = "/namespaces/default" if each.scope == "Namespaced" else ""
                path = f"{root}/{version.version}{scope}/{each.resource}"
                for verb in each.verbs or ():
                    method, rest = METHODS[verb]
                    yield verb, method, path + rest
                for sub in each.subresources:
                    for verb in sub.verbs or ():
                        yield verb, METHODS[verb][0], f"{path}/n/{sub.subresource}"


def served(operation: Operation) -> str | None:
    """Return the verb that is read from a request; None if it is refused."""
    _, method, path = operation
    try:
        request = parse_request(method, path, TABLE, "acme")
    except Refused:
        return None
    return request.verb if isinstance(request, ResourceRequest) else None


def test_every_advertised_verb_is_served() -> None:
    advertised = list(operations(ADVERTISED))
    assert len(advertised) > 400
    assert not [each for each in advertised if served(each) != each[0]]


def test_operations_that_are_not_advertised_are_not_served() -> None:
    advertised = set(operations(ADVERTISED))
    hidden = [each for each in operations(discovered()) if each not in advertised]
    assert len(hidden) > 50
    assert not [each for each in hidden if served(each) is not None]
