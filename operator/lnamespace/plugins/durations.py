"""Moments and lengths of time: as typed, as in the API, and as kubectl shows them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from lnamespace.plugins.errors import UsageError

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
LONGEST = timedelta(days=36500)


def parse_duration(text: str) -> timedelta:
    """A length such as `8h`, `1h30m`, `14d` or `2w`; more than nothing."""
    parts = re.findall(r"([0-9]{1,9})([wdhms])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f'invalid duration "{text}": write it like 30m, 8h, 1h30m, 14d or 2w')
    length = timedelta(seconds=sum(int(number) * UNITS[unit] for number, unit in parts))
    if not timedelta(0) < length <= LONGEST:
        raise UsageError(f'invalid duration "{text}": it must be more than 0 and at most 100 years')
    return length


def parse_instant(text: str) -> datetime:
    """A moment in RFC 3339, as the API takes it."""
    if not INSTANT.fullmatch(text):
        raise UsageError(
            f'invalid time "{text}": write it in full with a time zone, like '
            "2030-12-31T18:00:00Z or 2030-12-31T18:00:00-05:00"
        )
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f'invalid time "{text}": {error}') from None


def read_instant(value: object) -> datetime | None:
    """A moment out of an object from the cluster; None where there is none that can be read."""
    try:
        return parse_instant(value) if isinstance(value, str) else None
    except UsageError:
        return None


def format_instant(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second, as Kubernetes writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def human(length: timedelta) -> str:
    """A length as kubectl shows ages: two units while small, one when large."""
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
    """How long ago an object's `creationTimestamp` was."""
    moment = read_instant(created)
    return human(now - moment) if moment else "<unknown>"
