"""Parts of objects in merge patches: nulls, and the directives of strategic merge patches.

The directives are those of k8s.io/apimachinery/pkg/util/strategicpatch. A null or a directive can
remove a value that an object must have upstream: the tenant label, a selector's bound, an original
that is kept in an annotation. It is refused where it cannot be translated to spare that value.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lnamespace.translate.objects.confinement import confines
from lnamespace.translate.objects.confinement.certificates import MappedSigner
from lnamespace.translate.objects.confinement.kinds import rules_of
from lnamespace.translate.objects.confinement.rules import PinnedField
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.labels import TenantSelector
from lnamespace.translate.objects.metadata import is_cluster_roles, kept_annotations
from lnamespace.translate.objects.translators import (
    Encoded,
    FieldRule,
    ObjectTranslator,
    UpOnly,
    list_of,
    object_of,
    text_at,
    text_of,
)
from lnamespace.translate.protocol.patch_directives import (
    DELETE_FROM_PRIMITIVE_LIST,
    PATCH,
    RETAIN_KEYS,
    SET_ELEMENT_ORDER,
)
from lnamespace.translate.protocol.status import Refused, bad_request

PROTECTED_LISTS = frozenset({"matchConditions", "webhooks"})
"""Lists that the gateway adds to, or whose elements are confined."""
MERGED_LISTS = frozenset({"volumes", "webhooks"})
"""Lists with selectors in their elements that a strategic merge patch merges by name.

In other lists an element is replaced as a whole.
"""


def keeps_originals(context: TranslationContext) -> bool:
    """Return whether objects have annotations of the gateway's own upstream."""
    pinned = any(
        isinstance(each, PinnedField | MappedSigner) for each in rules_of(context.resource)
    )
    return pinned or is_cluster_roles(context.resource)


@dataclass(frozen=True)
class PatchContext:
    """The context of a value in a patch.

    Parameters
    ----------
    protected
        Whether directives could remove a value that must stay.
    whole
        Whether it is in an element of a list that is replaced as a whole.
    """

    protected: bool = False
    whole: bool = False


@dataclass(frozen=True)
class PartialBody:
    """A patch that is a part of an object, prepared for the translation of its kind."""

    context: TranslationContext
    strategic: bool = False

    def replaces(self, members: Encoded) -> bool:
        """Return whether the patch replaces the whole object."""
        return self.strategic and text_at(members, PATCH) == "replace"

    def prepared(self, members: Encoded, translator: ObjectTranslator) -> Encoded:
        """Return the patch with its directives in upstream spelling.

        Raises
        ------
        Refused
            The patch removes a value that must stay.
        """
        if self.strategic and (
            RETAIN_KEYS in members or (PATCH in members and not self.replaces(members))
        ):
            raise _unsupported("a directive for the whole object")
        if not self.context.resource.namespaced and not self.replaces(members):
            self._refuse_emptied(members)
        return {key: self._member(key, each, translator) for key, each in members.items()}

    def _refuse_emptied(self, members: Encoded) -> None:
        if "metadata" not in members:
            return
        metadata = object_of(members["metadata"])
        if metadata is None:
            raise _unsupported("removing metadata")
        own = kept_annotations(self.context) or keeps_originals(self.context)
        kept = ("labels", "annotations") if own else ("labels",)
        for key in kept:
            if key in metadata and object_of(metadata[key]) is None:
                raise _unsupported(f"removing all {key} at once")

    @cached_property
    def _confined(self) -> bool:
        return confines(self.context.resource)

    def _member(self, key: str, value: Any, translator: ObjectTranslator) -> Any:
        """Return a member at the top of the object."""
        pinned = key == "metadata" and not self.context.resource.namespaced
        return self._below(key, value, translator, PatchContext(protected=pinned or self._confined))

    def _below(
        self, key: str, value: Any, rule: FieldRule | None, patch_context: PatchContext
    ) -> Any:
        if self.strategic and key.startswith((SET_ELEMENT_ORDER, DELETE_FROM_PRIMITIVE_LIST)):
            if (
                patch_context.protected
                and key.removeprefix(DELETE_FROM_PRIMITIVE_LIST) in PROTECTED_LISTS
            ):
                raise _unsupported("this directive")
            child = rule and rule.child(key.partition("/")[2])
            return child.up(value, self.context) if child else value
        if self.strategic and key == RETAIN_KEYS:
            return self._retained(value, rule)
        return self._value(key, value, rule.child(key) if rule else None, patch_context)

    def _retained(self, value: Any, rule: FieldRule | None) -> Any:
        keys = [text_of(each) for each in list_of(value) or ()]
        if rule is None or None in keys:
            return value
        return [rule.key_up(key, self.context) for key in keys if key is not None]

    def _value(
        self, key: str, value: Any, rule: FieldRule | None, patch_context: PatchContext
    ) -> Any:
        if isinstance(rule, UpOnly):
            rule = rule.rule
        if rule is None and not (patch_context.protected and self.strategic):
            return value
        members = object_of(value)
        if members is not None:
            return self._object(members, rule, patch_context)
        items = list_of(value)
        if items is None:
            return value
        if not self.strategic or key not in MERGED_LISTS:
            patch_context = replace(patch_context, whole=True)
        item_rule = rule.child("0") if rule else None
        return [self._item(each, item_rule, patch_context) for each in items]

    def _item(self, value: Any, rule: FieldRule | None, patch_context: PatchContext) -> Any:
        """Return an item of a list, which may have a directive ``$patch``."""
        members = object_of(value)
        if members is None or PATCH not in members:
            return self._value("", value, rule, patch_context)
        directive = members.pop(PATCH)
        return self._object(members, rule, patch_context) | {PATCH: directive}

    def _object(
        self, members: Encoded, rule: FieldRule | None, patch_context: PatchContext
    ) -> Encoded:
        if isinstance(rule, TenantSelector):
            return self._selector(members, patch_context)
        if patch_context.protected and self.strategic:
            _refuse_directives(members)
        return {key: self._below(key, each, rule, patch_context) for key, each in members.items()}

    def _selector(self, members: Encoded, patch_context: PatchContext) -> Encoded:
        """Return a selector whose matchLabels, with the tenant label, are not removed."""
        if self.strategic:
            _refuse_directives(members, but="replace")
        if "matchLabels" not in members or patch_context.whole:
            return members
        labels = object_of(members["matchLabels"])
        if labels is None and not self.strategic:
            raise _unsupported("removing all matchLabels at once")
        if labels is None:
            return members | {"matchLabels": {PATCH: "replace"}}
        if self.strategic:
            _refuse_directives(labels, but="replace")
        return members


def _refuse_directives(members: Encoded, but: str = "") -> None:
    directive = text_of(members[PATCH]) if PATCH in members else but
    if RETAIN_KEYS in members or directive != but:
        raise _unsupported("this directive")


def _unsupported(what: str) -> Refused:
    return bad_request(f"{what} is not supported in a patch of this object: use an update instead")
