"""Convert LNamespaces between the versions of the API without losing anything.

What ``v1alpha1`` has no fields for is kept there in one annotation::

    tenancy.loblaw.digital/v1beta1: '{"users":{"User//bob":"2030-01-01T00:00:00Z"}}'

    users, managers, sudoers   KIND/NAMESPACE/NAME of an entry: its expiresAt
    billing.labels             those whose keys are fields: team, owner, ...
    billing.provenance         as in v1beta1
    billing.superseded         as in v1beta1

Everybody who may edit the object may write the annotation, so it is read strictly: it can give an
expiry to a listed entry but add no entry, it replaces no field of the object, and a part of it that
has another shape is dropped. One object that cannot be converted would make every list of
LNamespaces fail for everybody. So whatever the schema allows is converted, and below ``spec`` what
it does not allow is left as it is.

All functions take and return manifests as decoded JSON, and modify none.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from lnamespace.errors import ModelError
from lnamespace.model import lnamespace, v1alpha1
from lnamespace.model.billing import (
    BILLING_LABELS_MAX,
    BILLING_TEXTS,
    SUPERSEDED_MAX,
    BillingText,
    Charge,
    Provenance,
)
from lnamespace.model.lnamespace import MEMBER_LISTS
from lnamespace.model.names import Names
from lnamespace.model.rules import TIMESTAMP
from lnamespace.model.subject import Timestamp

Json = dict[str, Any]

VERSIONS = (lnamespace.VERSION, v1alpha1.VERSION)

_CARRIED = ("provenance", "superseded")

_KEY_MAX_BYTES = 56
"""Longer keys are hashed: three full lists of the longest names would exceed the 256 KiB that the
API server allows for annotations."""

_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

ANNOTATIONS_MAX = 256 * 1024
"""The most bytes that all annotations of an object may have.

With one more the API server refuses the conversion, and with it every list in that version. So the
webhook refuses an object that leaves too little (:func:`free_annotation_bytes`), and conversion
drops the annotation if it does not fit.
"""


def annotation_key(names: Names) -> str:
    """Return the key of the annotation; on a ``v1beta1`` object it has no meaning."""
    return f"{names.group}/{lnamespace.VERSION}"


def convert_manifest(manifest: Json, version: str, names: Names) -> Json:
    """Return an LNamespace in another version; of its metadata only the annotation differs.

    Raises
    ------
    ModelError
        The manifest is not an LNamespace in a known version; the message says what it is.
    """
    metadata = manifest.get("metadata")
    if manifest.get("kind") != lnamespace.KIND or not isinstance(metadata, dict):
        raise ModelError(f"not an {lnamespace.KIND} with metadata")
    if version not in VERSIONS:
        raise ModelError(f"no version of {names.group} that is known: {version}")
    if _version(manifest.get("apiVersion"), names) == version:
        return manifest
    key, spec = annotation_key(names), manifest.get("spec", {})
    if version == v1alpha1.VERSION:
        spec, carried = _to_older(spec)
    else:
        spec, carried = _to_newer(spec, _carried(metadata, key)), {}
    return manifest | {
        "apiVersion": f"{names.group}/{version}",
        "metadata": _annotated(metadata, key, carried),
        "spec": spec,
    }


def free_annotation_bytes(manifest: Json, names: Names) -> int:
    """Return how many bytes of annotations an LNamespace in ``v1beta1`` leaves free.

    If negative, it cannot be converted to ``v1alpha1`` without loss.
    """
    key = annotation_key(names)
    _, carried = _to_older(manifest.get("spec", {}))
    annotations = (manifest.get("metadata") or {}).get("annotations") or {}
    own = {k: v for k, v in annotations.items() if k != key}
    return ANNOTATIONS_MAX - _size(own) - (_size({key: _text(carried)}) if carried else 0)


def restore_unsupported(spec: Json, old: Json) -> Json:
    """Restore the values of an update in ``v1alpha1`` for which that version has no fields.

    Both arguments are specs in ``v1beta1``. An update in ``v1alpha1`` may lack the annotation, for
    it comes from a file: then all values that it cannot express stay as they were, or every entry
    would lose its expiry. If a file has an old annotation, an entry that is listed already keeps
    its present expiry, or none: the annotation may have one that was shortened since.
    """
    _, kept = _to_older(old)
    older, given = _to_older(spec)
    for name in MEMBER_LISTS:
        listed = {_key(entry) for entry in _entries(old, name)}
        given[name] = {k: v for k, v in given.get(name, {}).items() if k not in listed}
    result: Json = _to_newer(older, _merged(kept, given))
    return result


def _entries(spec: Any, name: str) -> list[Json]:
    entries = spec.get(name) if isinstance(spec, dict) else None
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def _version(api_version: object, names: Names) -> str:
    for version in VERSIONS:
        if api_version == f"{names.group}/{version}":
            return version
    raise ModelError(f"apiVersion is none of {names.group} that is known")


# The annotation


def _carried(metadata: Json, key: str) -> Json:
    annotations = metadata.get("annotations")
    text = annotations.get(key) if isinstance(annotations, dict) else None
    try:
        value = msgspec.json.decode(text) if isinstance(text, str) else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {}
    return value if isinstance(value, dict) else {}


def _annotated(metadata: Json, key: str, carried: Json) -> Json:
    annotations = metadata.get("annotations")
    present = annotations if isinstance(annotations, dict) else {}
    if not carried and key not in present:
        return metadata
    kept = {k: v for k, v in present.items() if k != key}
    if carried:
        text = _text(carried)
        if _size(kept) + _size({key: text}) <= ANNOTATIONS_MAX:
            kept[key] = text
    rest = {k: v for k, v in metadata.items() if k != "annotations"}
    return rest | {"annotations": kept} if kept else rest


def _text(carried: Json) -> str:
    """Return the annotation, sorted, so that equal objects are equal in both versions."""
    return msgspec.json.encode(carried, order="sorted").decode()


def _size(annotations: Json) -> int:
    """Return the size of annotations as the API server counts it."""
    return sum(len(str(k).encode()) + len(str(v).encode()) for k, v in annotations.items())


def _merged(kept: Json, given: Json) -> Json:
    """Return both annotations as one, in which ``given`` wins."""
    merged = dict(kept)
    for part, values in given.items():
        merged[part] = merged.get(part, {}) | values
    return merged


# To v1alpha1


def _to_older(spec: Any) -> tuple[Any, Json]:
    """Return the spec in ``v1alpha1``, and the parts of it that the annotation keeps."""
    if not isinstance(spec, dict):
        return spec, {}
    older, carried = dict(spec), dict[str, Any]()
    for name in MEMBER_LISTS:
        if isinstance(entries := spec.get(name), list):
            older[name] = [_without_expiry(entry) for entry in entries]
            carried[name] = _expiries(entries)
    if isinstance(billing := spec.get("billing"), dict):
        older["billing"], carried["billing"] = _older_billing(billing)
    return older, {part: values for part, values in carried.items() if values}


def _without_expiry(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    return {key: value for key, value in entry.items() if key != "expiresAt"}


def _expiries(entries: Iterable[Any]) -> Json:
    ending = (e for e in entries if isinstance(e, dict) and "expiresAt" in e)
    return {_key(entry): entry["expiresAt"] for entry in ending}


def _key(entry: Json) -> str:
    """Return the list map keys of an entry as one short text."""
    parts = (entry.get("kind", "User"), entry.get("namespace", ""), entry.get("name", ""))
    text = "/".join(map(str, parts))
    data = text.encode()
    if len(data) <= _KEY_MAX_BYTES:
        return text
    return f"sha256:{hashlib.sha256(data).hexdigest()[:40]}"


def _older_billing(billing: Json) -> tuple[Json, Json]:
    flat = {field: billing[field] for field in BILLING_TEXTS if field in billing}
    carried: Json = {part: billing[part] for part in _CARRIED if part in billing}
    if isinstance(labels := billing.get("labels"), dict):
        flat |= {key: value for key, value in labels.items() if key not in BILLING_TEXTS}
        clashing = {key: labels[key] for key in BILLING_TEXTS if key in labels}
        if clashing or not labels:
            carried["labels"] = clashing
    return flat, carried


# To v1beta1


def _to_newer(spec: Any, carried: Json) -> Any:
    """Return the spec in ``v1beta1``, with the parts that the annotation kept."""
    if not isinstance(spec, dict):
        return spec
    newer = dict(spec)
    for name in MEMBER_LISTS:
        if isinstance(entries := spec.get(name), list):
            newer[name] = [_with_expiry(entry, _part(carried, name)) for entry in entries]
    billing = spec.get("billing", {})
    if isinstance(billing, dict):
        deep = _newer_billing(billing, _part(carried, "billing"))
        if deep or "billing" in spec:
            newer["billing"] = deep
    return newer


def _part(carried: Json, name: str) -> Json:
    part = carried.get(name)
    return part if isinstance(part, dict) else {}


def _with_expiry(entry: Any, ends: Json) -> Any:
    flat = _without_expiry(entry)
    if not isinstance(flat, dict) or not ends:
        return flat
    end = ends.get(_key(flat))
    return flat | {"expiresAt": end} if _is_timestamp(end) else flat


def _is_timestamp(value: object) -> bool:
    return (
        isinstance(value, str)
        and re.fullmatch(TIMESTAMP, value, re.ASCII) is not None
        and _conforms(value, Timestamp)
    )


def _newer_billing(flat: Json, carried: Json) -> Json:
    deep = {field: flat[field] for field in BILLING_TEXTS if field in flat}
    labels = {key: value for key, value in flat.items() if key not in BILLING_TEXTS}
    clashing = _clashing(carried.get("labels"), BILLING_LABELS_MAX - len(labels))
    if labels or clashing is not None:
        deep["labels"] = labels | (clashing or {})
    if (provenance := _provenance(carried.get("provenance"))) is not None:
        deep["provenance"] = provenance
    if (superseded := _superseded(carried.get("superseded"))) is not None:
        deep["superseded"] = superseded
    return deep


def _clashing(value: object, most: int) -> Json | None:
    """Return at most so many labels whose keys are fields; None if there is no such map."""
    if not isinstance(value, dict):
        return None
    good = [field for field in BILLING_TEXTS if _conforms(value.get(field), BillingText)]
    return {field: value[field] for field in good[: max(most, 0)]}


def _provenance(value: object) -> Json | None:
    if not isinstance(value, dict) or not _conforms(value, Provenance):
        return None
    if not _conforms(value["generation"], _Int64) or not _is_timestamp(value["effectiveAt"]):
        return None
    return _known_fields(value, Provenance)


def _superseded(value: object) -> list[Json] | None:
    if not isinstance(value, list):
        return None
    charges = [charge for item in value if (charge := _charge(item)) is not None]
    return charges[-SUPERSEDED_MAX:]


def _charge(value: object) -> Json | None:
    if not isinstance(value, dict) or not _conforms(value, Charge):
        return None
    charge = _known_fields(value, Charge)
    if "provenance" not in charge:
        return charge
    provenance = _provenance(charge["provenance"])
    return charge | {"provenance": provenance} if provenance is not None else None


def _known_fields(value: Json, type_: type[Struct]) -> Json:
    fields = {field.encode_name for field in msgspec.structs.fields(type_)}
    return {key: item for key, item in value.items() if key in fields}


def _conforms(value: object, type_: Any) -> bool:
    try:
        msgspec.convert(value, type_)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True
