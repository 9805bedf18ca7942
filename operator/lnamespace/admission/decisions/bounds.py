"""Bounds on the size of an LNamespace, far above what a team needs.

The controller holds every LNamespace in memory, and one answer must hold the list of them all: one
tenant's sizes are everybody's cost. A part that was larger before may stay and be edited as long as
it does not grow, so that an LNamespace from before a bound stays repairable.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from lnamespace.admission.decisions.fields import FieldError, invalid, too_long
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.model.billing import (
    BILLING_MAX_BYTES,
    BILLING_TEXT_MAX,
    BILLING_TEXTS,
    Billing,
)
from lnamespace.model.lnamespace import (
    ENTRIES_MAX,
    MANAGED_MAX_BYTES,
    METADATA_MAX_BYTES,
    NAME_MAX,
    SPEC_MAX_BYTES,
    CommonSpec,
    Spec,
)
from lnamespace.model.rules import NULL_PROBLEM, billing_text_problem, text_problem
from lnamespace.model.subject import Member
from lnamespace.nesting import at_any_depth

Json = dict[str, Any]

_KEPT = ("provenance", "superseded")
"""The fields of ``spec.billing`` that the webhook itself writes."""


def size_errors(new: CommonSpec, before: Spec, request: AdmissionRequest) -> Iterator[FieldError]:
    """Yield an error for each part that is larger than its bound and than it was."""
    yield from _entry_errors(new, before)
    yield from _spec_errors(request)
    yield from _metadata_errors(request)


def text_errors(new: Billing, before: Billing) -> Iterator[FieldError]:
    """Yield an error for each new text of ``spec.billing`` that is too long or misleading."""
    for field, attribute in BILLING_TEXTS.items():
        text = getattr(new, attribute)
        if text != getattr(before, attribute):
            problem = billing_text_problem(attribute, text)
            yield from _text_errors(f"spec.billing.{field}", text, problem)
    for key, text in new.labels.items():
        if key not in before.labels and (problem := text_problem(key)):
            yield invalid("spec.billing.labels", key, problem)
        if text != before.labels.get(key):
            yield from _text_errors(f"spec.billing.labels[{key}]", text, text_problem(text))


def null_expiry_errors(request: AdmissionRequest) -> Iterator[FieldError]:
    """Yield an error for each ``expiresAt: null``, which decoding would take for no expiry."""
    spec = request.new.get("spec")
    for field in ENTRIES_MAX:
        for index, entry in enumerate(_list(spec, field)):
            if isinstance(entry, dict) and entry.get("expiresAt", "") is None:
                yield invalid(f"spec.{field}[{index}].expiresAt", None, NULL_PROBLEM)


def _text_errors(path: str, text: str, problem: str | None) -> Iterator[FieldError]:
    if len(text) > BILLING_TEXT_MAX:
        yield too_long(path, f"may not be more than {BILLING_TEXT_MAX} characters")
    elif problem:
        yield invalid(path, text, problem)


def _entry_errors(new: CommonSpec, before: Spec) -> Iterator[FieldError]:
    for field, most in ENTRIES_MAX.items():
        listed: tuple[Member, ...] = getattr(new, field)
        listed_before: tuple[Member, ...] = getattr(before, field)
        if len(listed) > max(most, len(listed_before)):
            yield too_long(
                f"spec.{field}",
                f"must have at most {most} entries and has {len(listed)}; remove who is no "
                "longer needed",
            )
        names = {member.name for member in listed_before}
        for index, member in enumerate(listed):
            if len(member.name) > NAME_MAX and member.name not in names:
                detail = f"may not be more than {NAME_MAX} characters"
                yield too_long(f"spec.{field}[{index}].name", detail)


def _spec_errors(request: AdmissionRequest) -> Iterator[FieldError]:
    new, old = _written_spec(request.new), _written_spec(request.old)
    yield from _growth_errors("spec", _size(new), _size(old), SPEC_MAX_BYTES)
    billing, old_billing = (_size(_part(spec, "billing")) for spec in (new, old))
    yield from _growth_errors("spec.billing", billing, old_billing, BILLING_MAX_BYTES)


def _metadata_errors(request: AdmissionRequest) -> Iterator[FieldError]:
    new, old = _part(request.new, "metadata"), _part(request.old, "metadata")
    own, old_own = (_size(_without(metadata, ("managedFields",))) for metadata in (new, old))
    yield from _growth_errors("metadata", own, old_own, METADATA_MAX_BYTES)
    managed, old_managed = (_size(metadata.get("managedFields", [])) for metadata in (new, old))
    if managed > MANAGED_MAX_BYTES >= old_managed:
        yield too_long(
            "metadata.managedFields",
            f"would be {managed} bytes, of {MANAGED_MAX_BYTES}: too many have applied it; forget "
            "who did by a patch that sets metadata.managedFields to [{}]",
        )


def _growth_errors(path: str, new: int, old: int, most: int) -> Iterator[FieldError]:
    if new > max(most, old):
        yield too_long(path, f"may not be more than {most} bytes as JSON, and is {new}")


def _written_spec(manifest: Json) -> Json:
    """Return the spec without the fields that the webhook writes."""
    spec = _part(manifest, "spec")
    billing = spec.get("billing")
    return spec | {"billing": _without(billing, _KEPT)} if isinstance(billing, dict) else spec


def _part(manifest: Mapping[str, Any], key: str) -> Json:
    part = manifest.get(key)
    return part if isinstance(part, dict) else {}


def _list(spec: object, field: str) -> list[Any]:
    listed = spec.get(field) if isinstance(spec, dict) else None
    return listed if isinstance(listed, list) else []


def _without(mapping: Json, keys: Iterable[str]) -> Json:
    return {key: value for key, value in mapping.items() if key not in keys}


def _size(value: Any) -> int:
    return len(at_any_depth(msgspec.json.encode, value))
