"""Durations and moments: as people type them, as the API has them, and as kubectl shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lnamespace.plugins.runtime.errors import UsageError

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
    if not 0 < seconds <= LONGEST.total_seconds():  # Python's own lengths overflow
        raise UsageError(f'invalid duration "{text}": it must be more than 0 and at most 100 years')
    return timedelta(seconds=seconds)


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
    """Return whether a text has Kubernetes' format, without an import of the module `re`."""
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


def format_age(length: timedelta) -> str:
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
    return format_age(now - moment) if moment else "<unknown>"
