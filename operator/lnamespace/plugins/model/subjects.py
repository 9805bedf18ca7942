"""Subjects on an LNamespace's lists: parse, store, compare and print them.

On the command line a subject is
    NAME | user:NAME | group:NAME | serviceaccount:NAMESPACE:NAME
(also system:serviceaccount:NAMESPACE:NAME, as the API server calls it) with an optional end:
`,for=8h`, `,until=2030-12-31T18:00:00Z` or `,until=never`. User names may hold
`@`, `:`, `,` and spaces, so only a last `,for=` or `,until=` is ours; a name that itself ends like
that is written with `,until=never` behind it. A bare name that looks like a slip (`mark,nina`,
`Group:devs`) is refused with the way to write what was meant; one that may be a slip as well as a
login (`mark nina`) is taken with a note. `user:` in front takes any name as it is.
"""

from __future__ import annotations

from datetime import datetime

from lnamespace.plugins.model.times import (
    format_instant,
    parse_duration,
    parse_instant,
    read_instant,
)
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

LISTS = {
    "user": "users",
    "manager": "managers",
    "sudoer": "sudoers",
}  # what one is, where it stands
ACCOUNT_USERNAME = "system:serviceaccount:"
KINDS = {"user:": "User", "group:": "Group"}
ACCOUNT_PREFIXES = ("serviceaccount:", ACCOUNT_USERNAME)
LOOKALIKES = {
    "user": "user:",
    "users": "user:",
    "group": "group:",
    "groups": "group:",
    "grp": "group:",
    "sa": "serviceaccount:",
    "svc": "serviceaccount:",
    "serviceaccount": "serviceaccount:",
    "serviceaccounts": "serviceaccount:",
    "service-account": "serviceaccount:",
    "system:serviceaccount": "serviceaccount:",
}  # what people write for a prefix, before a colon or a slash, and what they mean
# A group of Kubernetes that holds whatever ServiceAccount is made in a namespace; it is refused.
ALL_ACCOUNTS = "system:serviceaccounts:"
DISTINGUISHED_NAME = r"\s*[A-Za-z][A-Za-z0-9.-]*\s*=[^,]+"  # one part of it, RFC 4514
# Logins or addresses with blanks, or words with slashes; no URL, and no realm behind a slash.
TWO_NAMES = r"[\w.@-]+( +[\w.@-]+)+|[\w.-]+(/[\w.-]+)+"
END_KEYS = ("for", "until")
OTHER_COMMAS = ":; "  # what people write before an end
LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
ACCOUNT = rf"({LABEL}):({LABEL}(\.{LABEL})*)"


class SubjectName(NamedTuple):
    """The key of a subject in the lists."""

    kind: str
    name: str
    namespace: str

    @property
    def username(self) -> str | None:
        """Return the name by which the API server knows this subject; a group has none."""
        if self.kind == "ServiceAccount":
            return f"{ACCOUNT_USERNAME}{self.namespace}:{self.name}"
        return self.name if self.kind == "User" else None

    def covers(self, caller: Caller) -> bool:
        """Return whether the caller is this one, or in this group."""
        if self.kind == "Group":
            return self.name in caller.groups
        return self.username == caller.username

    @property
    def spelling(self) -> str:
        """Return the shortest text that parses to the same subject."""
        if self.kind == "ServiceAccount":
            return f"serviceaccount:{self.namespace}:{self.name}"
        prefix = "group:" if self.kind == "Group" else ""
        if not prefix and (self.name.startswith((*KINDS, *ACCOUNT_PREFIXES)) or _slip(self.name)):
            prefix = "user:"
        unclear = _split_end(self.name)[1] or _misspelt_end(self.name)
        return f"{prefix}{self.name}{',until=never' if unclear else ''}"


class Caller(NamedTuple):
    """The caller as the API server authenticated them."""

    username: str
    groups: tuple[str, ...]

    @property
    def identity(self) -> SubjectName:
        """Return the caller as an entry of a list."""
        if self.username.startswith(ACCOUNT_USERNAME):
            namespace, _, name = self.username.removeprefix(ACCOUNT_USERNAME).partition(":")
            return SubjectName("ServiceAccount", name, namespace)
        return SubjectName("User", self.username, "")


class ListEntry(NamedTuple):
    """An entry of a list."""

    identity: SubjectName
    expires_at: datetime | None = None

    def expired(self, now: datetime) -> bool:
        """Return whether the entry has ended by itself."""
        return self.expires_at is not None and self.expires_at <= now


class ParsedSubject(NamedTuple):
    """A subject as typed; if it has no end, another flag may give one."""

    identity: SubjectName
    end_said: bool
    expires_at: datetime | None
    note: str = ""  # for whoever typed it, where the name may be meant as two


def parse_subject(text: str, now: datetime) -> ParsedSubject:
    """Return a subject from the command line."""
    name, end = _split_end(text)
    if not end and (key := _misspelt_end(name)):
        raise UsageError(
            f'invalid subject "{text}": "{key}=" is no end there; an end is written ,for=8h or '
            ",until=2030-12-31T18:00:00Z (a name that really ends so: put ,until=never behind it)"
        )
    literal = end == "until=never"  # who writes that means the name as it stands before it
    identity = _identity(name, text, literal)
    note = "" if literal or identity.name != name else _doubt(name)
    return ParsedSubject(identity, bool(end), parse_end(end, now) if end else None, note)


def _doubt(name: str) -> str:
    """Return a note that a bare name is one user, if two may be meant; else nothing."""
    from re import fullmatch

    if not fullmatch(TWO_NAMES, name):
        return ""
    return (
        f'note: "{name}" is one user of that name; write each subject with a flag of its own '
        f"(a user who is really called that: user:{name})"
    )


def check_role(role: str, kind: str) -> None:
    """Refuse a group as sudoer: only a person can impersonate themselves."""
    if role == "sudoer" and kind == "Group":
        raise UsageError("a group cannot be a sudoer; name its members one by one")


def parse_end(end: str, now: datetime) -> datetime | None:
    """Return the end of an entry: `for=LENGTH`, `until=MOMENT`, or `until=never`."""
    key, _, value = end.partition("=")
    if key == "for":
        return now + parse_duration(value)
    if value == "never":
        return None
    moment = parse_instant(value)
    if moment <= now:
        raise UsageError(f'"{value}" is already past')
    return moment


def _split_end(text: str) -> tuple[str, str]:
    name, comma, end = text.rpartition(",")
    return (name, end) if comma and end.startswith(("for=", "until=")) else (text, "")


def _misspelt_end(name: str) -> str:
    """Return the key of a last `,KEY=VALUE` that is nearly `for` or `until`, or nothing.

    `mark,fro=8h` would otherwise be a person of that name, who has access without an end, and so
    would `mark:for=8h`.
    """
    before, equals, _ = name.rpartition("=")
    if equals and before.endswith(tuple(f"{c}{key}" for c in OTHER_COMMAS for key in END_KEYS)):
        return "until" if before.endswith("until") else "for"
    key, equals, _ = name.rpartition(",")[2].partition("=")
    if "," not in name or not equals or key in END_KEYS:
        return ""
    from difflib import get_close_matches

    near = get_close_matches(key.strip().lower(), END_KEYS, cutoff=0.6)
    return key if near else ""


def _slip(name: str) -> str:
    """Return advice for a bare name that was probably meant to be something else, or nothing.

    RBAC compares names exactly and knows no list of users, so a misspelt name gives access to
    nobody, or later to a user who gets that name.
    """
    if _begins(name, ALL_ACCOUNTS):
        return f"name each ServiceAccount: serviceaccount:{name[len(ALL_ACCOUNTS) :]}:NAME"
    near = (key for key in LOOKALIKES if _begins(name, f"{key}:") or _begins(name, f"{key}/"))
    if found := max(near, key=len, default=""):
        return _meant(LOOKALIKES[found], name[len(found) + 1 :])
    if name.startswith("@"):  # as a team is mentioned in a chat
        return _meant("group:", name[1:])
    if name.startswith("-"):  # as in `--user --sudoer=bob`
        return "it begins as a flag does, and the flag before it has no name"
    if ";" in name or ("," in name and not _is_distinguished(name)):
        return "write each subject with a flag of its own"
    return ""


def _meant(prefix: str, name: str) -> str:
    named = name.replace("/", ":", 1) if prefix == "serviceaccount:" else name
    return f"did you mean {prefix}{named}?"


def _is_distinguished(name: str) -> bool:
    from re import fullmatch

    return all(fullmatch(DISTINGUISHED_NAME, part) for part in name.split(","))


def _begins(name: str, prefix: str) -> bool:
    return name[: len(prefix)].lower() == prefix


def _identity(name: str, typed: str, literal: bool) -> SubjectName:
    for prefix in ACCOUNT_PREFIXES:
        if name.startswith(prefix):
            from re import fullmatch

            found = fullmatch(ACCOUNT, name.removeprefix(prefix))
            if not found:
                raise UsageError(f'invalid subject "{typed}": write serviceaccount:NAMESPACE:NAME')
            return SubjectName("ServiceAccount", found[3], found[1])
    for prefix, kind in KINDS.items():
        if name.startswith(prefix):
            return SubjectName(kind, _checked(name.removeprefix(prefix), typed), "")
    if not literal and (advice := _slip(name)):
        raise UsageError(
            f'invalid subject "{typed}": {advice} (a user who is really called that: user:{typed})'
        )
    return SubjectName("User", _checked(name, typed), "")


def _checked(name: str, typed: str) -> str:
    """Return the name; refuse a text that only looks like one, because RBAC compares exactly."""
    if not name.strip():
        raise UsageError(f'invalid subject "{typed}": the name is empty')
    if any("\ud800" <= char <= "\udfff" for char in name):
        raise UsageError(
            f'invalid subject "{typed}": the shell\'s locale cannot read it; set LC_ALL=C.UTF-8'
        )
    if name != name.strip() or any(ord(char) < 32 or char == "\x7f" for char in name):
        raise UsageError(
            f'invalid subject "{typed}": spaces around the name or control characters in it'
        )
    return name


def entry(manifest: Mapping[str, Any]) -> ListEntry:
    """Return an entry as the API gives it."""
    identity = SubjectName(
        str(manifest.get("kind") or "User"),
        str(manifest.get("name", "")),
        str(manifest.get("namespace") or ""),
    )
    return ListEntry(identity, read_instant(manifest.get("expiresAt")))


def entries(spec: Mapping[str, Any], field: str) -> tuple[ListEntry, ...]:
    """Return one list of an LNamespace's spec."""
    return tuple(entry(item) for item in spec.get(field) or ())


def manifest(subject: ListEntry) -> dict[str, str]:
    """Return an entry as the API takes it."""
    identity = subject.identity
    body = {"kind": identity.kind, "name": identity.name}
    if identity.namespace:
        body["namespace"] = identity.namespace
    if subject.expires_at:
        body["expiresAt"] = format_instant(subject.expires_at)
    return body


def entries_covering(spec: Mapping[str, Any], field: str, caller: Caller) -> tuple[ListEntry, ...]:
    """Return the entries of one list that are about the caller.

    Other entries are skipped by their names: to decode all entries of 1,000 LNamespaces took half
    as long as to decode their JSON.
    """
    named = (item for item in spec.get(field) or () if _has_name_of(item, caller))
    return covering(map(entry, named), caller)


def _has_name_of(manifest: Mapping[str, Any], caller: Caller) -> bool:
    name = str(manifest.get("name", ""))
    return name in caller.groups or caller.username.endswith(name)


def covering(subjects: Iterable[ListEntry], caller: Caller) -> tuple[ListEntry, ...]:
    """Return the entries that are about the caller."""
    return tuple(subject for subject in subjects if subject.identity.covers(caller))
