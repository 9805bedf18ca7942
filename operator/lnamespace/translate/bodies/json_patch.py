"""JSON patches in upstream spelling (RFC 6902), operation by operation.

A value is translated by the rule at its path. An operation is refused if it changes a part of a
value that is translated as a whole, or moves a value to a path with another rule.
"""

from dataclasses import dataclass
from typing import Any

from msgspec import DecodeError, Raw
from msgspec.json import Decoder, encode

from lnamespace.kube.json_pointer import keys_of, pointer_of
from lnamespace.translate.bodies.partial_objects import keeps_originals
from lnamespace.translate.bodies.readable_times import refuse_carried_time
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.catalogue import translation_context, translator_of
from lnamespace.translate.objects.confinement import confine_operations, confines
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.labels import TenantSelector, reserved
from lnamespace.translate.objects.managed_fields import ManagedFieldsTranslator
from lnamespace.translate.objects.match_rules import SPELL_NAMES, MatchRuleTranslator
from lnamespace.translate.objects.metadata import is_cluster_roles, kept_annotations
from lnamespace.translate.objects.references import (
    OwnersTranslator,
    ReferenceTranslator,
    SubjectTranslator,
)
from lnamespace.translate.objects.translators import FieldRule, KeyTranslator, Leaf, UpOnly, text_of
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import (
    ApiStatus,
    Refused,
    bad_request,
    request_too_large,
)

MAX_OPERATIONS = 10_000
"""As in kube-apiserver (CVE-2019-1002100)."""
MAX_KEYS = 30_000
"""Keys in all paths of a patch: with 3 MB of them one request held the thread for seconds."""
VALUE_OPERATIONS = frozenset({"add", "replace", "test"})
MOVE_OPERATIONS = frozenset({"move", "copy"})
LABELS = ("metadata", "labels")
ANNOTATIONS = ("metadata", "annotations")

Pointer = tuple[str, ...]

_decode_operations = Decoder(list[dict[str, Raw]]).decode
_decode_plain = Decoder(list[dict[str, Any]]).decode


def json_patch_up(request: ResourceRequest, body: bytes, view: TenantView) -> bytes:
    """Return a JSON patch in upstream spelling.

    Raises
    ------
    Refused
        The patch cannot be read, is too long, or reaches for what is not the tenant's.
    """
    resource, subresource = request.resource, request.subresource
    # A value that replaces a whole object, or its labels, has to have what must be there.
    context = translation_context(view, resource, request.namespace, whole=True)
    patched = _PatchedObject(translator_of(resource, subresource), context)
    operations = [patched.operation_up(each) for each in _operations(body)]
    if not confines(resource):
        return encode(operations)
    plain = _decode_plain(encode(operations))
    return encode(confine_operations(resource, subresource, plain, view))


def _operations(body: bytes) -> list[dict[str, Raw]]:
    try:
        operations = _decode_operations(body)
    except (DecodeError, RecursionError) as error:
        raise bad_request(f"error decoding patch: {error}") from error
    _refuse_more(len(operations), MAX_OPERATIONS, "operations")
    paths = (text_of(each.get(key, b"null")) for each in operations for key in ("path", "from"))
    _refuse_more(sum(path.count("/") for path in paths if path), MAX_KEYS, "keys of all paths")
    return operations


def _refuse_more(got: int, most: int, what: str) -> None:
    if got > most:
        raise request_too_large(f"The allowed maximum {what} in a JSON patch is {most}, got {got}")


@dataclass(frozen=True)
class _PointerTarget:
    """The target of a pointer.

    Parameters
    ----------
    above
        The pointer in upstream spelling.
    rule
        The rule of the value; None if the value is the tenant's own data.
    selector
        The rule of the selector that the pointer leads into, at the ``remaining`` pointer.
    """

    above: Pointer
    rule: FieldRule | None = None
    selector: TenantSelector | None = None
    remaining: Pointer = ()


@dataclass(frozen=True)
class _PatchedObject:
    translator: FieldRule
    context: TranslationContext

    def operation_up(self, operation: dict[str, Raw]) -> dict[str, Any]:
        kind = _text(operation, "op")
        tokens = _tokens(_text(operation, "path"))
        self._refuse_whole(kind, tokens)
        target = self._resolve(tokens)
        above: dict[str, Any] = {"op": kind, "path": pointer_of(target.above)}
        if kind in VALUE_OPERATIONS:
            value = operation.get("value", Raw(b"null"))
            return above | {"value": self._value_up(target, value)}
        if kind == "remove":
            return above | self._removal(target, tokens)
        if kind in MOVE_OPERATIONS:
            source = _tokens(_text(operation, "from"))
            return above | {"from": pointer_of(self._source(source, target, tokens))}
        message = "the server rejected our request due to an error in our request"
        raise Refused(ApiStatus(422, "Invalid", message, {}))

    def _resolve(self, tokens: Pointer) -> _PointerTarget:
        rule: FieldRule | None = self.translator
        above: list[str] = []
        for depth, key in enumerate(tokens):
            if isinstance(rule, UpOnly):
                rule = rule.rule
            if isinstance(rule, TenantSelector):
                remaining = tokens[depth:]
                return _PointerTarget((*above, *remaining), selector=rule, remaining=remaining)
            _refuse_part(rule, key)
            above.append(key if rule is None else rule.key_up(key, self.context))
            rule = None if rule is None else rule.child(key)
        return _PointerTarget(tuple(above), rule)

    def _value_up(self, target: _PointerTarget, value: Any) -> Any:
        if target.selector is not None:
            return self._part_up(target.selector, target.remaining, value)
        above = value if target.rule is None else target.rule.up(value, self.context)
        if target.above != ANNOTATIONS or not self._own_annotations:
            return above
        if not isinstance(above, dict):
            raise bad_request("metadata.annotations is no object")
        return above | self._own_annotations

    @property
    def _own_annotations(self) -> dict[str, str]:
        return dict(kept_annotations(self.context))

    def _part_up(self, selector: TenantSelector, remaining: Pointer, value: Any) -> Any:
        """Return a part of a selector, translated as if it stood alone in one."""
        match remaining:
            case ("matchLabels" | "matchExpressions" as member,):
                return self._selector_up(selector, {member: value})[member]
            case ("matchLabels", key) if key != self.context.view.tenant_label:
                return self._selector_up(selector, {"matchLabels": {key: value}})["matchLabels"][
                    key
                ]
            case ("matchLabels", key):
                raise reserved(self.context, "label", key)
            case ("matchExpressions", _):
                whole = self._selector_up(selector, {"matchExpressions": [value]})
                return whole["matchExpressions"][0]
            case _:
                raise _only_whole(remaining[:2])

    def _selector_up(self, selector: TenantSelector, whole: dict[str, Any]) -> dict[str, Any]:
        above = selector.up(encode(whole), self.context)
        if not isinstance(above, dict):
            raise bad_request("the value is no part of a selector")
        return above

    def _removal(self, target: _PointerTarget, tokens: Pointer) -> dict[str, Any]:
        """Return the members that turn a removal into a replacement, where a value must stay."""
        if target.selector is not None:
            value = self._part_up(target.selector, target.remaining, Raw(b"null"))
            return {"op": "replace", "value": value} if target.remaining == ("matchLabels",) else {}
        if tokens == ANNOTATIONS and self._own_annotations:
            return {"op": "replace", "value": self._own_annotations}
        if tokens == LABELS and not self.context.resource.namespaced and target.rule is not None:
            return {"op": "replace", "value": target.rule.up(b"{}", self.context)}
        return {}

    def _source(self, source: Pointer, target: _PointerTarget, tokens: Pointer) -> Pointer:
        """Return the source of a move or copy upstream; it must have the target's rule."""
        self._refuse_whole("move", source)
        refuse_carried_time(tokens, source)
        found = self._resolve(source)
        maps = {source, tokens} & {LABELS, ANNOTATIONS}
        if found.selector or target.selector or maps or found.rule != target.rule:
            raise bad_request(f"add the value of {pointer_of(tokens)} instead of carrying it there")
        return found.above

    def _refuse_whole(self, kind: str, tokens: Pointer) -> None:
        """Refuse to replace a whole object or map in which the gateway keeps values."""
        clusterwide = not self.context.resource.namespaced
        changes = kind != "test"
        if changes and (
            (kind in {"remove", *MOVE_OPERATIONS} and tokens in {(), ("metadata",)})
            or (clusterwide and tokens == ("metadata",))
            or (tokens == ANNOTATIONS and keeps_originals(self.context))
        ):
            raise _only_parts(tokens)
        if is_cluster_roles(self.context.resource) and tokens[:1] == ("aggregationRule",):
            raise _only_parts(tokens)


def _refuse_part(rule: FieldRule | None, key: str) -> None:
    """Refuse a part of a value in which one member decides the spelling of others."""
    if isinstance(rule, ReferenceTranslator):
        refused = key in {"kind", "name"}
    elif isinstance(rule, MatchRuleTranslator):
        refused = key in SPELL_NAMES
    elif isinstance(rule, SubjectTranslator):
        refused = key != "namespace"
    else:
        known = KeyTranslator | ManagedFieldsTranslator | OwnersTranslator
        refused = isinstance(rule, Leaf) and not isinstance(rule, known)
    if refused:
        raise _only_whole((key,))


def _only_whole(tokens: Pointer) -> Refused:
    return bad_request(f"{tokens[-1]} cannot be patched alone: replace what it is a part of")


def _only_parts(tokens: Pointer) -> Refused:
    where = pointer_of(tokens) or "the whole object"
    return bad_request(f"{where} cannot be changed by a JSON patch: use a merge patch or an update")


def _text(operation: dict[str, Raw], key: str) -> str:
    text = text_of(operation.get(key, b"null"))
    if text is None:
        raise bad_request(f"an operation of a JSON patch lacks {key}")
    return text


def _tokens(pointer: str) -> Pointer:
    if pointer and not pointer.startswith("/"):
        raise bad_request("a path in a JSON patch begins with a slash")
    return keys_of(pointer)
