"""Times as the API of Kubernetes writes them."""

from datetime import UTC, datetime


def format_time(moment: datetime, timespec: str = "auto") -> str:
    """Return a time in UTC, as precise as ``timespec`` of :meth:`datetime.isoformat`."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def present_time() -> str:
    """Return the present time as a Time of meta/v1: in UTC, to the second."""
    return format_time(datetime.now(UTC), "seconds")
