"""Refuse roles and bindings that grant what their writer does not have.

These are the checks of k8s.io/kubernetes/pkg/registry/rbac, for every create, update and patch of a
Role, a ClusterRole or a binding that is allowed itself, on the object as it would be stored.
:mod:`lnamespace.rbac.preconditions` keeps that object from changing before the write.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lnamespace.kube.resources import RBAC
from lnamespace.rbac.attributes import MASTERS, Attributes, User
from lnamespace.rbac.authorizer import Authorizer, aggregate_error
from lnamespace.rbac.covering import TooManyCombinations, missing_rights, missing_text
from lnamespace.rbac.objects import AccessRule, RbacRole, RoleReference, binding_value, role_value
from lnamespace.rbac.rules import EVERYTHING
from lnamespace.translate.protocol.encodings import UNREADABLE
from lnamespace.translate.protocol.quoting import go_quote, go_quote_all
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import (
    Refused,
    bad_request,
    forbidden,
    internal_error,
    not_found,
)

ROLE_RESOURCES = frozenset({"roles", "clusterroles"})
BINDING_RESOURCES = frozenset({"rolebindings", "clusterrolebindings"})
_OF_GARBAGE_COLLECTION = frozenset(
    {"ownerReferences", "finalizers", "selfLink", "managedFields", "resourceVersion"}
)


def is_rbac_write(attributes: Attributes) -> bool:
    """Return whether a request writes a Role or a binding, so that it must be checked."""
    return (
        attributes.group == RBAC
        and attributes.resource in ROLE_RESOURCES | BINDING_RESOURCES
        and attributes.verb in {"create", "update", "patch"}
    )


def confirm_no_escalation(
    authorizer: Authorizer, user: User, attributes: Attributes, new: bytes, old: bytes | None = None
) -> None:
    """Refuse a write of a Role or a binding by which a user would grant what they do not have.

    Parameters
    ----------
    attributes
        The attributes of the request by its URL: the name is empty for a create.
    new
        The object as it would be stored, as JSON: the API server's answer to a dry run.
    old
        The object as it is stored, or None for a create.

    Raises
    ------
    Refused
        Forbidden with Kubernetes' own message, NotFound if the role of a binding does not exist,
        BadRequest if the object cannot be read.
    """
    if MASTERS in user.groups:
        return
    manifest = _manifest(new)
    before = None if old is None else _manifest(old)
    try:
        if attributes.resource in ROLE_RESOURCES:
            _confirm_role(authorizer, user, attributes, manifest, before)
        else:
            _confirm_binding(authorizer, user, attributes, manifest, before)
    except (msgspec.ValidationError, TooManyCombinations) as error:
        reason = str(error) or "the rules have too many combinations of verbs and resources"
        raise bad_request(f"{attributes.resource}.{RBAC}: {reason}") from error


def _confirm_role(
    authorizer: Authorizer,
    user: User,
    attributes: Attributes,
    new: Mapping[str, Any],
    old: Mapping[str, Any] | None,
) -> None:
    if authorizer.allows(user, _escalation_of(attributes)).allowed:
        return
    if _same_but_for_garbage_collection(new, old):
        return
    role = role_value(new)
    check = _Escalation(authorizer, user, attributes, role.name)
    check.confirm(role.rules)
    if _aggregates(role) or (old is not None and _aggregates(role_value(old))):
        check.confirm_aggregation()


def _confirm_binding(
    authorizer: Authorizer,
    user: User,
    attributes: Attributes,
    new: Mapping[str, Any],
    old: Mapping[str, Any] | None,
) -> None:
    if _same_but_for_garbage_collection(new, old):
        return
    binding = binding_value(new)
    namespace = attributes.namespace
    if _may_bind(authorizer, user, binding.role, namespace):
        return
    rules = authorizer.rules_of(binding.role, namespace)
    if rules is None:
        raise _no_such_role(binding.role, attributes.resource)
    _Escalation(authorizer, user, attributes, binding.name).confirm(rules)


class _Escalation:
    """A comparison of rules with the rights of their writer where they are written."""

    def __init__(
        self, authorizer: Authorizer, user: User, attributes: Attributes, name: str
    ) -> None:
        self._user = user
        self._resource = GroupResource(RBAC, attributes.resource)
        self._name = name
        held = authorizer.rules_for(user, attributes.namespace)
        self._held, self._missing = held.rules, held.missing

    def confirm(self, rules: Sequence[AccessRule]) -> None:
        missing = missing_rights(self._held, rules)
        if missing:
            raise self._refusal(self._message(missing))

    def confirm_aggregation(self) -> None:
        if missing_rights(self._held, EVERYTHING):
            raise self._refusal("must have cluster-admin privileges to use the aggregationRule")

    def _refusal(self, why: str) -> Refused:
        return forbidden(self._resource, self._name, why)

    def _message(self, missing: Sequence[AccessRule]) -> str:
        text = (
            f"user {go_quote(self._user.name)} (groups={go_quote_all(self._user.groups)})"
            " is attempting to grant RBAC permissions not currently held:"
            f"\n{missing_text(missing)}"
        )
        if not self._missing:
            return text
        missing_roles = [_no_such_role(role, self._resource.plural) for role in self._missing]
        errors = aggregate_error([refused.status.message for refused in missing_roles])
        return f"{text}; resolution errors: [{errors}]"


def _may_bind(authorizer: Authorizer, user: User, role: RoleReference, namespace: str) -> bool:
    resources = {"Role": "roles", "ClusterRole": "clusterroles"}
    if role.kind not in resources:
        return False
    asked = Attributes(
        "bind", role.api_group, "*", resources[role.kind], namespace=namespace, name=role.name
    )
    return authorizer.allows(user, asked).allowed


def _no_such_role(role: RoleReference, plural: str) -> Refused:
    """Return the API server's error, which names the resource of the request, not the role's."""
    if role.kind not in {"Role", "ClusterRole"}:
        return internal_error(f"unsupported role reference kind: {go_quote(role.kind)}")
    return not_found(GroupResource(RBAC, plural), role.name)


def _escalation_of(attributes: Attributes) -> Attributes:
    return Attributes(
        "escalate",
        attributes.group,
        "*",
        attributes.resource,
        namespace=attributes.namespace,
        name=attributes.name,
    )


def _aggregates(role: RbacRole) -> bool:
    return bool(role.aggregation)


def _manifest(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except UNREADABLE as error:
        raise bad_request(str(error)) from error


def _same_but_for_garbage_collection(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> bool:
    """Return whether a write changes only what the garbage collector needs to change."""
    return old is not None and _without_empty(_content(new)) == _without_empty(_content(old))


def _content(manifest: Mapping[str, Any]) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(manifest)
    kept = {key: each for key, each in metadata.items() if key not in _OF_GARBAGE_COLLECTION}
    return {**manifest, "metadata": kept}


def _without_empty(value: Any) -> Any:
    """Return JSON without null and empty members: Kubernetes holds them equal to absent ones."""
    if isinstance(value, Mapping):
        members = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in members.items() if each not in (None, [], {})}
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    return value
