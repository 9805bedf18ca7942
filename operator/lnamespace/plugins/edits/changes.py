"""Apply the edits of `kubectl lns` to the spec of an LNamespace or an LCluster; pure."""

from __future__ import annotations

from datetime import datetime

from lnamespace.plugins.model.roles import active
from lnamespace.plugins.model.subjects import (
    LISTS,
    ListEntry,
    SubjectName,
    entries,
    entry,
    manifest,
)
from lnamespace.plugins.model.times import format_age, format_instant
from lnamespace.plugins.runtime.flags import BILLING, SETTINGS
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Spec = Mapping[str, Any]
else:
    Spec = dict

EDITORS = ("managers", "sudoers")  # who can change an LNamespace


class Grant(NamedTuple):
    """One role to give. If no end is given, a present entry keeps its end."""

    role: str
    subject: ListEntry
    end_said: bool = True


class Listing(NamedTuple):
    """The entries of one subject; no role means all lists that the subject is on."""

    role: str | None
    identity: SubjectName


class Change(NamedTuple):
    """The next spec, its differences in words, and the requests that could not be met.

    ``hazard`` is why it should not be written, though the API server might accept it.
    """

    spec: Spec
    words: tuple[str, ...]
    problems: tuple[str, ...] = ()
    hazard: str = ""


def grant(spec: Spec, wanted: Iterable[Grant], now: datetime) -> Change:
    """Add subjects to lists, or change the end of their entries."""
    changed, words = dict(spec), []
    for wish in wanted:
        field, identity = LISTS[wish.role], wish.subject.identity
        items = list(changed.get(field) or ())
        place = next((n for n, item in enumerate(items) if entry(item).identity == identity), None)
        if place is None:
            items.append(manifest(wish.subject))
            text = f"{identity.spelling} is now a {wish.role}{_until(wish.subject, now)}"
            words.append(text + _another(changed, identity))
        elif _changes_end(entry(items[place]), wish, now):
            items[place] = _with_end(items[place], wish.subject)
            end = _until(wish.subject, now) or " without end"
            words.append(f"{identity.spelling} stays a {wish.role}, now{end}")
        changed[field] = items
    return Change(changed, tuple(words))


def _another(spec: Spec, identity: SubjectName) -> str:
    """Return words about a listed subject of nearly the same name: RBAC compares case too."""
    listed = (known.identity for field in LISTS.values() for known in entries(spec, field))
    alike = (known for known in listed if _folded(known) == _folded(identity) and known != identity)
    other = next(alike, None)
    kind = "user" if identity.kind == "User" else "group"
    return f"; {other.spelling}, listed too, is another {kind}" if other else ""


def _folded(identity: SubjectName) -> SubjectName:
    return identity._replace(name=identity.name.casefold())


def _changes_end(known: ListEntry, wish: Grant, now: datetime) -> bool:
    """Return whether the entry gets another end; an expired one does even if no end is given."""
    if not wish.end_said and not known.expired(now):
        return False
    return known.expires_at != wish.subject.expires_at


def _with_end(item: Mapping[str, Any], subject: ListEntry) -> dict[str, Any]:
    kept = {key: value for key, value in item.items() if key != "expiresAt"}
    end = manifest(subject).get("expiresAt")
    return {**kept, "expiresAt": end} if end else kept


def _until(subject: ListEntry, now: datetime) -> str:
    end = subject.expires_at
    return f" until {format_instant(end)} (in {format_age(end - now)})" if end else ""


def extend(spec: Spec, wanted: Iterable[Listing], end: datetime, now: datetime) -> Change:
    """Set the end of entries that have one; an entry without an end stays so."""
    grants, endless, problems = [], [], []
    for wish in wanted:
        found = list(_listed(spec, wish))
        problems += [] if found else [_not_listed(spec, wish)]
        for role, known in found:
            if known.expires_at is None:
                endless.append(f"{wish.identity.spelling} is a {role} without end already")
            else:
                grants.append(Grant(role, ListEntry(wish.identity, end)))
    changed = grant(spec, grants, now)
    # Not a problem of its own where another entry of the same subject was extended.
    return changed._replace(problems=(*problems, *(() if grants else endless)))


def revoke(spec: Spec, wanted: Iterable[Listing]) -> Change:
    """Remove subjects from lists, whenever their entries would have ended."""
    changed, words, problems = dict(spec), [], []
    for wish in dict.fromkeys(wanted):
        found = [role for role, _ in _listed(spec, wish)]
        problems += [] if found else [_not_listed(spec, wish)]
        for role in dict.fromkeys(found):
            items = changed.get(LISTS[role]) or []
            kept = [item for item in items if entry(item).identity != wish.identity]
            if len(kept) < len(items):
                changed[LISTS[role]] = kept
                words.append(f"{wish.identity.spelling} is no longer a {role}")
    return Change(changed, tuple(words), tuple(problems))


def prune(spec: Spec, now: datetime) -> Change:
    """Remove the entries that have expired, which give no rights any more."""
    changed, words = dict(spec), []
    for role, field in LISTS.items():
        items = changed.get(field) or []
        ended = [entry(item) for item in items if entry(item).expired(now)]
        words += [f"removed {one.identity.spelling}, a {role}{_ended(one, now)}" for one in ended]
        if ended:
            changed[field] = [item for item in items if not entry(item).expired(now)]
    return Change(changed, tuple(words))


def _ended(subject: ListEntry, now: datetime) -> str:
    end = subject.expires_at
    return f" until {format_instant(end)} ({format_age(now - end)} ago)" if end else ""


def _listed(spec: Spec, wish: Listing) -> Iterable[tuple[str, ListEntry]]:
    """Return the entries that are meant, each with the role that it gives."""
    for role, field in LISTS.items():
        if wish.role in (None, role):
            for known in entries(spec, field):
                if known.identity == wish.identity:
                    yield role, known


def _not_listed(spec: Spec, wish: Listing) -> str:
    spelling = wish.identity.spelling
    elsewhere = [role for role, _ in _listed(spec, Listing(None, wish.identity))]
    if elsewhere:
        return f'"{spelling}" is not a {wish.role} (but a {" and a ".join(elsewhere)})'
    listed = {one.identity.spelling for field in LISTS.values() for one in entries(spec, field)}
    from difflib import get_close_matches

    near = get_close_matches(spelling, sorted(listed), n=1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return f'"{spelling}" is not on {"any list" if wish.role is None else "that list"}{hint}'


def locks_out(before: Spec, after: Spec, now: datetime) -> bool:
    """Return whether somebody could change the LNamespace before, and nobody can after."""
    return _has_editor(before, now) and not _has_editor(after, now)


def _has_editor(spec: Spec, now: datetime) -> bool:
    return any(active(entries(spec, field), now) for field in EDITORS)


class Values(NamedTuple):
    """The new values of fields, by flag; an empty text removes the value."""

    texts: Mapping[str, str] = {}
    labels: Mapping[str, str | None] = {}  # of the bill; None: there should be none of that key
    deletion_protection: bool | None = None


def set_values(spec: Spec, values: Values) -> Change:
    """Set fields other than the lists."""
    changed, words = dict(spec), []
    billing = dict(spec.get("billing") or {})
    for flag, value in values.texts.items():
        target, field = (billing, BILLING[flag]) if flag in BILLING else (changed, SETTINGS[flag])
        words += _set(target, field, value, flag.replace("-", " "))
    words += _set_labels(billing, values.labels)
    if billing != (spec.get("billing") or {}):
        changed["billing"] = billing
    protect = values.deletion_protection
    if protect is not None and bool(spec.get("deletionProtection")) != protect:
        changed["deletionProtection"] = protect
        words.append(f"deletion protection is now {'on' if protect else 'off'}")
    return Change(changed, tuple(words))


def _set(target: dict[str, Any], field: str, value: str, called: str) -> list[str]:
    before = str(target.get(field) or "")
    if before == value:
        return []
    target[field] = value
    if not value:
        del target[field]
        return [f"{called} is no longer {before}"]
    return [f"{called} is now {value}" + (f" (was {before})" if before else "")]


def _set_labels(billing: dict[str, Any], labels: Mapping[str, str | None]) -> list[str]:
    present, words = dict(billing.get("labels") or {}), []
    for key, value in labels.items():
        words += _set(present, key, value or "", f"billing label {key}")
    if words:
        billing["labels"] = present
    return words


if TYPE_CHECKING:
    Edit = Callable[[Mapping[str, Any]], Change]
else:
    Edit = object
"""A function from the present spec to a change of it."""
