"""Answers of kind Status: failures, and the success of a deletion."""

import dataclasses
import json
import re
from dataclasses import dataclass

from msgspec import Raw, Struct, ValidationError
from msgspec.json import Decoder, encode
from msgspec.structs import replace

from lnamespace.translate.bodies.text_values import values_down
from lnamespace.translate.names.tenant_view import CRDS
from lnamespace.translate.objects.aggregation import KEPT_AS, MEMBER
from lnamespace.translate.objects.confinement.ownership import written_fields
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.texts import text_down
from lnamespace.translate.objects.translators import (
    Encoded,
    ObjectTranslator,
    list_of,
    object_of,
    text_at,
    text_of,
)
from lnamespace.translate.protocol.resources import ResourceType


def status_down(
    members: Encoded, context: TranslationContext, translator: ObjectTranslator
) -> Encoded:
    """Translate a Status in place and return it.

    Parameters
    ----------
    translator
        The translator of the request's objects, for quoted values of their fields.
    """
    details = object_of(members.get("details", b"null"))
    if details is not None and text_at(members, "reason") == "Conflict":
        _name_written_fields(members, details, context.resource)
    texts = _Texts(context, translator)
    if details is not None:
        members["details"], texts = _details_down(details, texts)
    texts.translate(members, "message")
    return members


_OBJECT_AND_URL = r"\b(name o(?:f the object|n the URL) \("
"""Before the names of an object that is written at the path of another one."""
_PLURAL = r"(?:[^\s.()]*\.)?"
_WHOLE_OBJECT = re.compile(
    r'(^|\bis invalid: patch: )(Invalid value: )"(?:\{|map\[)(?:[^"\\]|\\.)*+"'
    r"|^(map: )map\[.*\](?= does not)",
    re.DOTALL,
)
"""The object as it is upstream, which is quoted where a patch of it cannot be decoded or merged.

It has labels, annotations and conditions of the platform in it.
"""

_REFERENCE = "roleRef"
"""An object in whose printed form names are found."""
_PRINTED = re.compile(rf"(?<!{_REFERENCE}: Invalid value: )(?<=Invalid value: )(?=[{{\[])")
_CHANGES = re.compile(r"\n*@@ -\d.*?(?=\]?\Z)", re.DOTALL)
"""The lines that a change of an immutable field would change, in the names that Go has for them."""
_scan = json.JSONDecoder(parse_int=str).raw_decode


_AGGREGATION = {f".metadata.annotations.{KEPT_AS}": f".{MEMBER}"}


class _FieldConflict(Struct, frozen=True):
    """A cause of a conflict between managers of fields."""

    reason: str = ""
    message: str = ""
    field: str = ""

    @property
    def with_manager(self) -> str:
        """Return the manager that the conflict is with, as the message names it."""
        return self.message.removeprefix("conflict with ")


_decode_conflicts = Decoder(list[_FieldConflict]).decode


def _name_written_fields(members: Encoded, details: Encoded, resource: ResourceType) -> None:
    """Replace in conflicts, in place, the gateway's own fields by those that the tenant wrote."""
    written = {**written_fields(resource), **_AGGREGATION}
    try:
        found = _decode_conflicts(details.get("causes", b"[]"))
    except ValidationError:
        return
    if not any(each.field in written for each in found):
        return
    named = [replace(each, field=written.get(each.field, each.field)) for each in found]
    causes = list(dict.fromkeys(named))
    details["causes"] = Raw(encode(causes))
    members["message"] = Raw(encode(_conflict_message(causes)))


def _conflict_message(causes: list[_FieldConflict]) -> str:
    """Return the words of the API server for conflicts between managers of fields."""
    if len(causes) == 1:
        return f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    fields: dict[str, list[str]] = {}
    for each in causes:
        fields.setdefault(each.with_manager, []).append(f"- {each.field}")
    lines = [line for manager, of in fields.items() for line in (f"conflicts with {manager}:", *of)]
    return f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)


@dataclass(frozen=True)
class _Texts:
    """A translator of the texts of one Status, with the object from its details."""

    context: TranslationContext
    translator: ObjectTranslator
    group: str = ""
    renamed: tuple[str, str] = ("", "")

    def translate(self, members: Encoded, key: str, field: str = "") -> None:
        """Translate one member in place.

        Parameters
        ----------
        field
            The path of the field whose value the text begins with.
        """
        text = text_of(members.get(key, b"null"))
        if text is None:
            return
        view = self.context.view
        if field in ("", "patch"):
            text = _WHOLE_OBJECT.sub(_left_out, text)
        if view.prefix in text:
            text = values_down(text, self.translator, self.context, field)
            text = _names_of_object_and_url_down(text, self.context)
        text = text_down(view, text, self.group, self.context.namespace)
        if field != _REFERENCE and (view.prefix in text or view.platform_domain in text):
            text = _without_values(text)
        upstream, below = self.renamed
        members[key] = text.replace(f'"{upstream}"', f'"{below}"') if upstream else text


def _left_out(found: re.Match[str]) -> str:
    """Return what stands in place of an object: Kubernetes writes ``"..."`` for what it omits."""
    patch, opinion, merged = found.groups("")
    return f"{merged}..." if merged else f'{patch}{opinion}"..."'


def _without_values(text: str) -> str:
    """Return a text without the objects in it that Kubernetes prints as Go has them.

    They are not in the words of the API, so that no name in them is found.
    """
    parts, at = list[str](), 0
    text = _CHANGES.sub("", text)
    while found := _PRINTED.search(text, at):
        try:
            _, end = _scan(text, found.end())
        except (ValueError, RecursionError):
            break
        parts += text[at : found.end()], '"..."'
        at = end
    return "".join((*parts, text[at:]))


def _names_of_object_and_url_down(text: str, context: TranslationContext) -> str:
    resource, prefix = context.resource, context.view.prefix
    if resource.namespaced:
        return text
    plural = _PLURAL if resource.group_resource == CRDS else ""
    return re.sub(f"{_OBJECT_AND_URL}{plural}){prefix}", r"\1", text)


def _details_down(details: Encoded, texts: _Texts) -> tuple[Encoded, _Texts]:
    """Return the details in tenant spelling, and how the texts are translated."""
    context = texts.context
    view = context.view
    group = view.group_down(text_at(details, "group"))
    if group:
        details["group"] = group
    name = text_at(details, "name")
    resource = _resource(details, group, context)
    below = name and resource and view.name_down(resource, name)
    if below:
        details["name"] = below
    texts = dataclasses.replace(texts, group=group, renamed=(name, below or name))
    causes = list_of(details.get("causes", b"null"))
    if causes is not None:
        details["causes"] = [_cause_down(each, texts) for each in causes]
    return details, texts


def _resource(details: Encoded, group: str, context: TranslationContext) -> ResourceType | None:
    """Return the type of the object in the details, whose ``kind`` may be the plural."""
    kind = text_at(details, "kind")
    resources = context.view.resources
    return resources.by_plural(group, kind) or resources.by_kind(group, kind)


def _cause_down(value: object, texts: _Texts) -> object:
    cause = object_of(value)
    if cause is None:
        return value
    field = text_at(cause, "field")
    texts.translate(cause, "message", field)
    texts.translate(cause, "field")
    return cause
