"""Validate names, which the API server sees with a prefix.

``-a`` is no valid name of a Namespace, but ``acme--a`` is; and the prefix takes some of the 63
characters. The messages are those of a plain API server.
"""

import re

from lnamespace.kube.resources import RBAC
from lnamespace.translate.names.tenant_view import CRDS, NAMESPACES, TenantView
from lnamespace.translate.objects.translators import Encoded, object_at, text_at
from lnamespace.translate.protocol.policies import is_reserved_group
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Cause, Refused, already_exists, forbidden, invalid

MAX_LABEL, MAX_SUBDOMAIN = 63, 253
_LABEL_FORMAT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL = re.compile(_LABEL_FORMAT)
_SUBDOMAIN = re.compile(rf"{_LABEL_FORMAT}(\.{_LABEL_FORMAT})*")
_LABEL_PROBLEM = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for"
    f" validation is '{_LABEL_FORMAT}')"
)
_SUBDOMAIN_PROBLEM = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    rf" for validation is '{_LABEL_FORMAT}(\.{_LABEL_FORMAT})*')"
)
_ANY_NAMES = frozenset({RBAC})
"""Groups whose names may be any segment of a path."""


def refuse_names(request: ResourceRequest, members: Encoded, view: TenantView) -> None:
    """Refuse an object that is created under a name that it could not have on a plain API server.

    Parameters
    ----------
    members
        The object in tenant spelling.

    Raises
    ------
    Refused
        As the API server would, if it saw the names as the tenant wrote them.
    """
    resource = request.resource
    if resource.namespaced or request.subresource or request.verb not in {"create", "patch"}:
        return
    metadata = object_at(members, "metadata")
    name = text_at(metadata, "name")
    stem = text_at(metadata, "generateName")
    if request.verb == "create" and name in view.published.get(resource.group_resource, ()):
        raise already_exists(resource.group_resource, name)
    if resource.group_resource == CRDS:
        _refuse_foreign_group(members, name, view)
    elif name or stem:
        # An apply to a Namespace in upstream spelling has that name in the body too.
        below = name.removeprefix(view.prefix) if request.in_pod else name
        _refuse_name(resource, below, stem, view)


def name_problem(resource: ResourceType, name: str, view: TenantView) -> str:
    """Return why the name of a cluster-scoped object is invalid; empty if it is valid."""
    if resource.group in _ANY_NAMES:
        return ""
    is_namespace = resource.group_resource == NAMESPACES
    limit = (MAX_LABEL if is_namespace else MAX_SUBDOMAIN) - len(view.prefix)
    if len(name) > limit:
        return f"must be no more than {limit} characters"
    if (_LABEL if is_namespace else _SUBDOMAIN).fullmatch(name):
        return ""
    return _LABEL_PROBLEM if is_namespace else _SUBDOMAIN_PROBLEM


def _refuse_name(resource: ResourceType, name: str, stem: str, view: TenantView) -> None:
    if resource.group_resource == NAMESPACES and (name or stem).startswith(view.prefix):
        why = f'names that begin with "{view.prefix}" are reserved'
        raise forbidden(resource.group_resource, name or stem, why)
    # A stem is cut, and its end is replaced by an alphanumeric character.
    example = name or f"{stem[:1]}x"
    problem = name_problem(resource, example, view)
    if problem:
        field = "metadata.name" if name else "metadata.generateName"
        raise _invalid(resource, name, field, f'Invalid value: "{name or stem}": {problem}')


def _refuse_foreign_group(members: Encoded, name: str, view: TenantView) -> None:
    group = text_at(object_at(members, "spec"), "group")
    # An apply of labels alone has no group.
    if group and is_reserved_group(group):
        why = f'the API group "{group}" is built in'
        raise forbidden(CRDS, name, why)
    if group in view.platform_groups:
        if view.resources.by_plural(group, name.partition(".")[0]):
            raise already_exists(CRDS, name)
        raise forbidden(CRDS, name, f'the API group "{group}" is the platform\'s')


def _invalid(resource: ResourceType, name: str, field: str, message: str) -> Refused:
    return invalid(
        resource.group, resource.kind, name, [Cause("FieldValueInvalid", message, field)]
    )
