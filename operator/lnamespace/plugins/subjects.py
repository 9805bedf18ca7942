"""People on an LNamespace's lists: how they are typed, stored, recognised and shown.

On the command line a subject is
    NAME | user:NAME | group:NAME | serviceaccount:NAMESPACE:NAME
(also system:serviceaccount:NAMESPACE:NAME, as the API server calls it) with an optional end:
`,for=8h`, `,until=2030-12-31T18:00:00Z` or `,until=never`. User names may hold
`@`, `:`, `,` and spaces, so only a last `,for=` or `,until=` is ours; a name that itself ends like
that is written with `,until=never` behind it. A bare name that looks like a slip (`mark,nina`,
`Group:devs`) is refused with the way to write what was meant; `user:` in front takes it as it is.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lnamespace.plugins.errors import UsageError
from lnamespace.plugins.values import TYPE_CHECKING, NamedTuple

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
    "sa": "serviceaccount:",
    "svc": "serviceaccount:",
    "serviceaccount": "serviceaccount:",
    "serviceaccounts": "serviceaccount:",
    "service-account": "serviceaccount:",
    "system:serviceaccount": "serviceaccount:",
    "system:serviceaccounts": "group:system:serviceaccounts:",
}  # what people write for a prefix, and what they mean
DISTINGUISHED_NAME = r"\s*[A-Za-z][A-Za-z0-9.-]*\s*=[^,]+"  # one part of it, RFC 4514
END_KEYS = ("for", "until")
LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
ACCOUNT = rf"({LABEL}):({LABEL}(\.{LABEL})*)"


class SubjectName(NamedTuple):
    """The key of a subject in the lists."""

    kind: str
    name: str
    namespace: str

    @property
    def username(self) -> str | None:
        """The name the API server knows this one by; a group has none."""
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
        """The shortest way to type this one that reads back as the same."""
        if self.kind == "ServiceAccount":
            return f"serviceaccount:{self.namespace}:{self.name}"
        prefix = "group:" if self.kind == "Group" else ""
        if not prefix and (self.name.startswith((*KINDS, *ACCOUNT_PREFIXES)) or _slip(self.name)):
            prefix = "user:"
        unclear = _split_end(self.name)[1] or _misspelt_end(self.name)
        return f"{prefix}{self.name}{',until=never' if unclear else ''}"


class Caller(NamedTuple):
    """Who the API server says is asking."""

    username: str
    groups: tuple[str, ...]

    @property
    def identity(self) -> SubjectName:
        """The caller as an entry of a list."""
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


class Typed(NamedTuple):
    """A subject as typed; an end that was not said may still come from another flag."""

    identity: SubjectName
    end_said: bool
    expires_at: datetime | None


def parse_subject(text: str, now: datetime) -> Typed:
    """Return a subject from the command line."""
    name, end = _split_end(text)
    if not end and (key := _misspelt_end(name)):
        raise UsageError(
            f'invalid subject "{text}": "{key}=" is not known; an end is written ,for=8h or '
            ",until=2030-12-31T18:00:00Z (a name that really ends so: put ,until=never behind it)"
        )
    literal = end == "until=never"  # who writes that means the name as it stands before it
    return Typed(_identity(name, text, literal), bool(end), parse_end(end, now) if end else None)


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

    `mark,fro=8h` would otherwise be a person of that name, who has access without an end.
    """
    key, equals, _ = name.rpartition(",")[2].partition("=")
    if "," not in name or not equals or key in END_KEYS:
        return ""
    from difflib import get_close_matches

    near = get_close_matches(key.strip().lower(), END_KEYS, cutoff=0.6)
    return key if near else ""


def _slip(name: str) -> str:
    """Return advice for a bare name that was probably meant to be something else, or nothing.

    RBAC compares names exactly and knows no list of people, so a slip would give access to nobody,
    or later to whoever comes to have that name.
    """
    found = max((key for key in LOOKALIKES if _begins(name, f"{key}:")), key=len, default="")
    if found:
        return f"did you mean {LOOKALIKES[found]}{name[len(found) + 1 :]}?"
    if "," in name and not _is_distinguished(name):
        return "write each subject with a flag of its own"
    return ""


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
    """Return the name; refuse what only looks like one, for RBAC compares exactly."""
    if not name.strip():
        raise UsageError(f'invalid subject "{typed}": the name is empty')
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


def covering(subjects: Iterable[ListEntry], caller: Caller) -> tuple[ListEntry, ...]:
    """Return the entries that are about the caller."""
    return tuple(subject for subject in subjects if subject.identity.covers(caller))


UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
INSTANT = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
LONGEST = timedelta(days=36500)
DIGITS = frozenset("0123456789")
DIGITS_MAX = 9


def parse_duration(text: str) -> timedelta:
    """Return a length such as `8h`, `1h30m`, `14d` or `2w`; more than nothing."""
    seconds, number = 0, ""
    for char in text:
        if char in DIGITS and len(number) < DIGITS_MAX:
            number += char
        elif char in UNITS and number:
            seconds, number = seconds + int(number) * UNITS[char], ""
        else:
            number = text  # read as what is left over
            break
    if not text or number:
        raise UsageError(f'invalid duration "{text}": write it like 30m, 8h, 1h30m, 14d or 2w')
    length = timedelta(seconds=seconds)
    if not timedelta(0) < length <= LONGEST:
        raise UsageError(f'invalid duration "{text}": it must be more than 0 and at most 100 years')
    return length


def parse_instant(text: str) -> datetime:
    """Return a moment in RFC 3339, as the API takes it."""
    if not _is_usual(text) and not _is_instant(text):
        raise UsageError(
            f'invalid time "{text}": write it in full with a time zone, like '
            "2030-12-31T18:00:00Z or 2030-12-31T18:00:00-05:00"
        )
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f'invalid time "{text}": {error}') from None


def _is_usual(text: str) -> bool:
    """Return whether it is as Kubernetes writes it, which is seen without the module `re`."""
    digits = set(text[0:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19])
    signs = text[4:5] + text[7:8] + text[10:11] + text[13:14] + text[16:17] + text[19:]
    return digits <= DIGITS and signs == "--T::Z"


def _is_instant(text: str) -> bool:
    from re import fullmatch

    return fullmatch(INSTANT, text) is not None


def read_instant(value: object) -> datetime | None:
    """Return a moment of an object from the cluster; None where it cannot be read."""
    try:
        return parse_instant(value) if isinstance(value, str) else None
    except UsageError:
        return None


def format_instant(moment: datetime) -> str:
    """Return a moment in RFC 3339, in UTC, to the second, as Kubernetes writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def human(length: timedelta) -> str:
    """Return a length as kubectl shows ages: two units while small, one when large."""
    seconds = int(length.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    return f"{hours}h" if hours < 48 else _human_days(hours)


def _human_days(hours: int) -> str:
    days = hours // 24
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _two(days // 365, "y", days % 365 if days < 2920 else 0, "d")


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def age(created: object, now: datetime) -> str:
    """Return how long ago an object's `creationTimestamp` was."""
    moment = read_instant(created)
    return human(now - moment) if moment else "<unknown>"
