"""Parse the payers' file. An error names the line, and says what to write instead.

Parsing is strict (``files/strict_yaml.py``): YAML reads the cost centre 0815 as a number, and
another cost centre than the one that was written would be charged for ever.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lnamespace.errors import PayersError
from lnamespace.files import strict_yaml
from lnamespace.files.strict_yaml import ErrorHints, StrictYamlError
from lnamespace.model.billing import (
    BILLING_MAX_BYTES,
    BILLING_TEXT_MAX,
    BILLING_TEXTS,
    Charge,
    ChargeFields,
)
from lnamespace.model.lnamespace import LABEL_KEY_MAX_LENGTH
from lnamespace.model.rules import cost_center_problem, text_problem
from lnamespace.payers.entries import UNALLOCATED, DirectoryConfig, Entry, Fallback, Payers
from lnamespace.payers.patterns import GroupPattern, compile_pattern

BYTES_MAX = 1024 * 1024
"""The most bytes of the file: a ConfigMap holds no more."""

PATTERNS_MAX = 50

_Name = Annotated[str, Meta(max_length=1024)]
_PROVIDERS = ("CloudIdentity",)


class _Fields(ChargeFields, frozen=True, rename="camel", forbid_unknown_fields=True):
    def charge(self) -> Charge:
        return Charge(**msgspec.structs.asdict(self))


class _Entry(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    user: _Name = ""
    group: _Name = ""
    group_pattern: _Name = ""
    priority: Annotated[int, Meta(ge=-1000, le=1000)] = 0
    billing: _Fields = _Fields()


class _Directory(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    provider: str
    refresh_minutes: Annotated[int, Meta(ge=1, le=1440)] = 60


class _Document(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    default: _Fields | None = None
    on_missing: Fallback = Fallback.DEFAULT
    on_ambiguous: Fallback = Fallback.REJECT
    free_choice_groups: tuple[_Name, ...] = ()
    entries: tuple[_Entry, ...] = ()
    directory: _Directory | None = None


_KEYS = tuple(
    field.encode_name
    for struct in (_Document, _Entry, _Fields, _Directory)
    for field in msgspec.structs.fields(struct)
)


class _Problem(Exception):
    """An error at a path such as ``entries[0].billing``; becomes a PayersError with the line."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def decode(content: bytes, source: str) -> Payers:
    """Return the configuration that a file's content has; ``{}`` configures nothing.

    Raises
    ------
    PayersError
        The file cannot be used; the message has ``source``, the line and the field.
    """
    if len(content) > BYTES_MAX:
        raise PayersError(f"{source}: larger than {BYTES_MAX} bytes")
    try:
        file, place = strict_yaml.read(content, source, _Document, ErrorHints(_KEYS, Fallback))
    except StrictYamlError as error:
        raise PayersError(str(error)) from error
    if place.node is None:
        raise PayersError(f"{source}: is empty; to configure nothing, write {{}}")
    try:
        return _payers(file)
    except _Problem as error:
        raise PayersError(place.message(error.path, str(error))) from error


def _payers(file: _Document) -> Payers:
    default = file.default.charge() if file.default else UNALLOCATED
    if not default.cost_center:
        raise _Problem("default", "needs a costCenter")
    _check_charge("default", default)
    entries = tuple(_entry(position, entry) for position, entry in enumerate(file.entries))
    if sum(entry.pattern is not None for entry in entries) > PATTERNS_MAX:
        raise _Problem("entries", f"at most {PATTERNS_MAX} entries may have a groupPattern")
    _check_texts("freeChoiceGroups", dict(enumerate(file.free_choice_groups)))
    return Payers(
        entries,
        default,
        file.on_missing,
        file.on_ambiguous,
        frozenset(file.free_choice_groups),
        _lookup(file.directory),
    )


def _entry(position: int, entry: _Entry) -> Entry:
    path = f"entries[{position}]"
    if sum(map(bool, (entry.user, entry.group, entry.group_pattern))) != 1:
        raise _Problem(path, "needs one of user, group and groupPattern")
    _check_texts(path, {"user": entry.user, "group": entry.group})
    charge = entry.billing.charge()
    pattern = _pattern(path, entry.group_pattern) if entry.group_pattern else None
    filled = pattern.fields if pattern else frozenset()
    for field in sorted(filled):
        if getattr(charge, BILLING_TEXTS[field]):
            raise _Problem(f"{path}.billing.{field}", "the groupPattern fills this in: say it once")
    if not charge.cost_center and "costCenter" not in filled:
        raise _Problem(path, "needs a billing.costCenter, for somebody must pay")
    _check_charge(f"{path}.billing", charge)
    return Entry(position, charge, entry.user, entry.group, pattern, entry.priority)


def _pattern(path: str, text: str) -> GroupPattern:
    try:
        return compile_pattern(text)
    except PayersError as error:
        raise _Problem(f"{path}.groupPattern", str(error)) from error


def _lookup(directory: _Directory | None) -> DirectoryConfig | None:
    if directory is None:
        return None
    if directory.provider not in _PROVIDERS:
        raise _Problem("directory.provider", f"must be {' or '.join(_PROVIDERS)}")
    return DirectoryConfig(directory.refresh_minutes)


def _check_charge(path: str, charge: Charge) -> None:
    """Refuse a charge that the API refuses: its people could not create an LNamespace."""
    fields = msgspec.to_builtins(charge)
    _check_texts(path, fields)
    labels = fields.pop("labels", {})
    for where, texts in ((path, fields), (f"{path}.labels", labels)):
        for key, text in texts.items():
            if len(text) > BILLING_TEXT_MAX:
                detail = f"may not be more than {BILLING_TEXT_MAX} characters"
                raise _Problem(f"{where}.{key}", detail)
            if problem := text_problem(text):
                raise _Problem(f"{where}.{key}", problem)
    if any(len(key) > LABEL_KEY_MAX_LENGTH for key in labels):
        detail = f"keys may have at most {LABEL_KEY_MAX_LENGTH} characters"
        raise _Problem(f"{path}.labels", detail)
    if problem := next(filter(None, map(text_problem, labels)), None):
        raise _Problem(f"{path}.labels", problem)
    if len(msgspec.json.encode(charge)) > BILLING_MAX_BYTES:
        raise _Problem(path, f"may not be more than {BILLING_MAX_BYTES} bytes as JSON")


def _check_texts(path: str, texts: Mapping[Any, Any]) -> None:
    """Refuse text that people cannot read in the ledger or type into a command."""
    for key, text in texts.items():
        if isinstance(text, Mapping):
            _check_texts(f"{path}.{key}", text)
        elif text != text.strip() or not text.isprintable() or not str(key).isprintable():
            where = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"
            raise _Problem(where, "must have no control characters, nor white space around it")
        elif key == "costCenter" and (problem := cost_center_problem(text)):
            raise _Problem(f"{path}.{key}", problem)
