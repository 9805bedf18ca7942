"""How much an LNamespace may say: bounds that no team misses, so that none can weigh on all others.

The controller has every LNamespace in memory, and a list of them all must fit into its answer. What
is there already may stay and be edited, as long as it does not grow: an LNamespace of before must
stay repairable. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from lnamespace.admission.decisions.fields import FieldError, invalid, too_long
from lnamespace.admission.decisions.review import Request
from lnamespace.model.lnamespace import (
    BILLING_MAX_BYTES,
    BILLING_TEXT_MAX,
    ENTRIES_MAX,
    MANAGED_MAX_BYTES,
    METADATA_MAX_BYTES,
    NAME_MAX,
    SPEC_MAX_BYTES,
    Billing,
    Spec,
)
from lnamespace.model.rules import NULL_PROBLEM, cost_center_problem, text_problem
from lnamespace.model.subject import Member

Json = dict[str, Any]

_KEPT = ("provenance", "superseded")
"""What the webhook itself writes into ``spec.billing``."""

_TEXTS = {
    "cost_center": "costCenter",
    "owner": "owner",
    "team": "team",
    "environment": "environment",
}


def sizes(new: Spec, before: Spec, request: Request) -> Iterator[FieldError]:
    """Return what is more than there is room for, and more than there was."""
    yield from _entries(new, before)
    yield from _spec(request)
    yield from _metadata(request)


def texts(new: Billing, before: Billing) -> Iterator[FieldError]:
    """Return which texts of the bill are not what they look like, of those that are new."""
    for attribute, field in _TEXTS.items():
        text, check = getattr(new, attribute), text_problem
        if attribute == "cost_center":
            check = cost_center_problem
        if text != getattr(before, attribute):
            yield from _text(f"spec.billing.{field}", text, check(text))
    for key, text in new.labels.items():
        if key not in before.labels and (problem := text_problem(key)):
            yield invalid("spec.billing.labels", key, problem)
        if text != before.labels.get(key):
            yield from _text(f"spec.billing.labels[{key}]", text, text_problem(text))


def endless(request: Request) -> Iterator[FieldError]:
    """Return the entries whose end is null, which the type would not tell from no end."""
    spec = request.new.get("spec")
    for field in ENTRIES_MAX:
        for index, entry in enumerate(_list(spec, field)):
            if isinstance(entry, dict) and entry.get("expiresAt", "") is None:
                yield invalid(f"spec.{field}[{index}].expiresAt", None, NULL_PROBLEM)


def _text(path: str, text: str, problem: str | None) -> Iterator[FieldError]:
    if len(text) > BILLING_TEXT_MAX:
        yield too_long(path, f"may not be more than {BILLING_TEXT_MAX} characters")
    elif problem:
        yield invalid(path, text, problem)


def _entries(new: Spec, before: Spec) -> Iterator[FieldError]:
    for field, most in ENTRIES_MAX.items():
        listed: tuple[Member, ...] = getattr(new, field)
        known: tuple[Member, ...] = getattr(before, field)
        if len(listed) > max(most, len(known)):
            yield too_long(
                f"spec.{field}",
                f"must have at most {most} entries and has {len(listed)}; remove who is no "
                "longer needed",
            )
        names = {member.name for member in known}
        for index, member in enumerate(listed):
            if len(member.name) > NAME_MAX and member.name not in names:
                detail = f"may not be more than {NAME_MAX} characters"
                yield too_long(f"spec.{field}[{index}].name", detail)


def _spec(request: Request) -> Iterator[FieldError]:
    new, old = _written(request.new), _written(request.old)
    yield from _grown("spec", _size(new), _size(old), SPEC_MAX_BYTES)
    bill, former = (_size(_part(spec, "billing")) for spec in (new, old))
    yield from _grown("spec.billing", bill, former, BILLING_MAX_BYTES)


def _metadata(request: Request) -> Iterator[FieldError]:
    new, old = _part(request.new, "metadata"), _part(request.old, "metadata")
    own, former = (_size(_without(metadata, ("managedFields",))) for metadata in (new, old))
    yield from _grown("metadata", own, former, METADATA_MAX_BYTES)
    managed, before = (_size(metadata.get("managedFields", [])) for metadata in (new, old))
    if managed > MANAGED_MAX_BYTES >= before:
        yield too_long(
            "metadata.managedFields",
            f"would be {managed} bytes, of {MANAGED_MAX_BYTES}: too many have applied it; forget "
            "who did by a patch that sets metadata.managedFields to [{}]",
        )


def _grown(path: str, new: int, old: int, most: int) -> Iterator[FieldError]:
    if new > max(most, old):
        yield too_long(path, f"may not be more than {most} bytes as JSON, and is {new}")


def _written(manifest: Json) -> Json:
    """The spec without what the webhook keeps there."""
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
    return len(msgspec.json.encode(value))
