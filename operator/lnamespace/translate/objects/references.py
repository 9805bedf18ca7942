"""References to other objects, whose kind decides how their name is spelled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lnamespace.kube.resources import RBAC
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.spellings import (
    API_VERSION,
    CLUSTER_ROLE_NAME,
    GROUP,
    NAMESPACE_SPELLING,
)
from lnamespace.translate.objects.translators import (
    Encoded,
    FieldRule,
    ForeignObject,
    Leaf,
    ObjectTranslator,
    list_of,
    object_of,
    text_at,
)
from lnamespace.translate.protocol.quoting import go_quote
from lnamespace.translate.protocol.resources import ResourceType, ServingPolicy
from lnamespace.translate.protocol.status import Cause, Refused, invalid

INERT = "inert:"
"""The prefix of names of ClusterRoles that cannot exist: a binding to one grants nothing.

A tenant's ClusterRoles begin with the tenant's prefix, and nobody else creates one with this.
"""


_MEMBERS: dict[str, FieldRule] = {
    "apiVersion": API_VERSION,
    "apiGroup": GROUP,
    "namespace": NAMESPACE_SPELLING,
}


@dataclass(frozen=True)
class ReferenceTranslator(ObjectTranslator):
    """The translation of references with ``apiVersion`` or ``apiGroup``, ``kind`` and ``name``.

    A kind that the tenant is not served keeps its name.
    """

    rules: Mapping[str, FieldRule] = field(default_factory=lambda: _MEMBERS)

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a reference in upstream spelling, without the repeats of a key."""
        members = object_of(value)
        return value if members is None else self.members_up(members, context)

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate the members of a reference in place, and return them."""
        resource = referenced_type(members, context.view)
        super().members_up(members, context)
        _rename(members, resource, context.view.name_up)
        return members

    def members_down(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate the members of a reference in place, and return them."""
        super().members_down(members, context)
        _rename(members, referenced_type(members, context.view), partial(_name_down, context.view))
        return members


REFERENCE = ReferenceTranslator()


def _name_down(view: TenantView, resource: ResourceType, name: str) -> str | None:
    """Return a referenced name in tenant spelling; None if it is not the tenant's.

    This includes shared kinds, of which the tenant has no objects: a reference to the node ``n`` is
    ``acme-n`` upstream, so that a tenant's Event is not taken for one about a real node.
    """
    if resource.policy is ServingPolicy.SHARED:
        return name if view.name_up(resource, name) == name else name.removeprefix(view.prefix)
    return view.name_down(resource, name)


def referenced_type(members: Encoded, view: TenantView) -> ResourceType | None:
    """Return the type of a reference in tenant spelling, or None if it is not served."""
    kind = text_at(members, "kind")
    version = text_at(members, "apiVersion")
    group = version.rpartition("/")[0] if version else text_at(members, "apiGroup")
    return view.resources.by_kind(group, kind)


def _rename(
    members: Encoded,
    resource: ResourceType | None,
    spell: Callable[[ResourceType, str], str | None],
) -> None:
    name = text_at(members, "name")
    if resource is None or resource.namespaced or not name:
        return
    members["name"] = spell(resource, name) or name


@dataclass(frozen=True)
class OwnersTranslator(Leaf):
    """The translation of ``metadata.ownerReferences``; the platform's own kinds are hidden."""

    changes_only_with_tenant_name = False

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return owners in upstream spelling."""
        owners = list_of(value)
        return value if owners is None else [REFERENCE.up(each, context) for each in owners]

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return owners in tenant spelling."""
        raw = bytes(value)
        domain = context.view.tenant_label.partition("/")[0]
        if context.tenant_bytes not in raw and domain.encode() not in raw:
            return value
        owners = [object_of(each) or {} for each in list_of(value) or []]
        shown = [each for each in owners if not text_at(each, "apiVersion").startswith(domain)]
        return [REFERENCE.members_down(each, context) for each in shown]

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of an owner, whatever its index."""
        del key
        return REFERENCE


@dataclass(frozen=True)
class SubjectTranslator(Leaf):
    """The translation of a subject of a binding: a user, a group or a ServiceAccount."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a subject in upstream spelling, which is no user of the platform."""
        spell = {"User": context.view.user_up, "Group": context.view.user_group_up}
        return _subject(value, partial(NAMESPACE_SPELLING.up, context=context), spell)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a subject in tenant spelling."""
        if context.tenant_bytes not in bytes(value):
            return value
        spell = {"User": context.view.user_down, "Group": context.view.user_group_down}
        return _subject(value, partial(NAMESPACE_SPELLING.down, context=context), spell)

    def child(self, key: str) -> FieldRule | None:
        """Return the rule of the namespace; that of the name needs the kind beside it."""
        return NAMESPACE_SPELLING if key == "namespace" else None


def _subject(
    value: Any, namespace: Callable[[Any], Any], names: Mapping[str, Callable[[str], str | None]]
) -> Any:
    """Return a subject with its namespace and its name spelled by functions, the name by kind."""
    subject = object_of(value)
    if subject is None:
        return value
    if "namespace" in subject:
        subject["namespace"] = namespace(subject["namespace"])
    spell, name = names.get(text_at(subject, "kind")), text_at(subject, "name")
    if spell is not None and name:
        subject["name"] = spell(name) or name
    return subject


@dataclass(frozen=True)
class RoleRefTranslator(Leaf):
    """The translation of ``roleRef``.

    Parameters
    ----------
    inert
        Whether the role is spelled as one that cannot exist: a ClusterRoleBinding of a tenant
        grants nothing upstream.
    """

    inert: bool = False

    @property
    def changes_only_with_tenant_name(self) -> bool:  # type: ignore[override]
        """Return whether the tenant's name is in every value that changes."""
        return not self.inert

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a role reference in upstream spelling."""
        role = object_of(value)
        name, kind = text_at(role or {}, "name"), text_at(role or {}, "kind")
        if self.inert and kind not in ("", "ClusterRole"):
            raise _no_cluster_role(kind)
        if role is None or not name or kind == "Role":
            return value if role is None else role
        role["name"] = (INERT if self.inert else "") + context.view.name_up(CLUSTER_ROLE_NAME, name)
        return role

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a role reference in tenant spelling."""
        role = object_of(value)
        if role is None or text_at(role, "kind") != "ClusterRole":
            return value
        name = text_at(role, "name")
        name = name.removeprefix(INERT) if self.inert else name
        role["name"] = context.view.name_down(CLUSTER_ROLE_NAME, name) or name
        return role


def _no_cluster_role(kind: str) -> Refused:
    """Return the API server's refusal: for an LCluster's account it has words about itself."""
    message = f'Unsupported value: {go_quote(kind)}: supported values: "ClusterRole"'
    cause = Cause("FieldValueNotSupported", message, "roleRef.kind")
    return invalid(RBAC, "ClusterRoleBinding", "", [cause])


def refuse_foreign_claim(value: Any, context: TranslationContext) -> None:
    """Raise ForeignObject unless a reference is to a namespace of this tenant."""
    claim = object_of(value) or {}
    if not context.view.namespace_down(text_at(claim, "namespace")):
        raise ForeignObject
