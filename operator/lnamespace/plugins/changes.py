"""What `kubectl lns grant` and `revoke` do to an LNamespace: pure, from one spec to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from lnamespace.plugins.durations import format_instant, human
from lnamespace.plugins.subjects import LISTS, Identity, Subject, entries, entry, manifest
from lnamespace.plugins.sudoers import active

EDITORS = ("managers", "sudoers")  # who can change an LNamespace


class Grant(NamedTuple):
    """One role to give."""

    role: str
    subject: Subject


class Revocation(NamedTuple):
    """One role to take; None means whichever the subject has."""

    role: str | None
    identity: Identity


class Change(NamedTuple):
    """The next spec, and what is different in it, in words; no words: nothing is."""

    spec: Mapping[str, Any]
    words: tuple[str, ...]


def grant(spec: Mapping[str, Any], wanted: Iterable[Grant], now: datetime) -> Change:
    """Add or extend; entries that nobody asked about stay exactly as they are."""
    changed, words = dict(spec), []
    for wish in wanted:
        field, identity = LISTS[wish.role], wish.subject.identity
        items = list(changed.get(field) or ())
        places = [index for index, item in enumerate(items) if entry(item).identity == identity]
        if not places:
            items.append(manifest(wish.subject))
            words.append(f"{identity.spelling} is now a {wish.role}{_until(wish.subject, now)}")
        elif entry(items[places[0]]).expires_at != wish.subject.expires_at:
            items[places[0]] = _with_end(items[places[0]], wish.subject)
            end = _until(wish.subject, now) or " without end"
            words.append(f"{identity.spelling} stays a {wish.role}, now{end}")
        changed[field] = items
    return Change(changed, tuple(words))


def _with_end(item: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    kept = {key: value for key, value in item.items() if key != "expiresAt"}
    end = manifest(subject).get("expiresAt")
    return {**kept, "expiresAt": end} if end else kept


def _until(subject: Subject, now: datetime) -> str:
    end = subject.expires_at
    return f" until {format_instant(end)} (in {human(end - now)})" if end else ""


def revoke(spec: Mapping[str, Any], wanted: Iterable[Revocation]) -> Change:
    """Take roles away, whenever they would have ended."""
    changed, words = dict(spec), []
    for wish in wanted:
        for role, field in LISTS.items():
            items = changed.get(field) or []
            kept = [item for item in items if entry(item).identity != wish.identity]
            if wish.role in (None, role) and len(kept) < len(items):
                changed[field] = kept
                words.append(f"{wish.identity.spelling} is no longer a {role}")
    return Change(changed, tuple(words))


def locks_out(before: Mapping[str, Any], after: Mapping[str, Any], now: datetime) -> bool:
    """Whether somebody could change the LNamespace before, and nobody can after."""
    return _has_editor(before, now) and not _has_editor(after, now)


def _has_editor(spec: Mapping[str, Any], now: datetime) -> bool:
    return any(active(entries(spec, field), now) for field in EDITORS)
