"""Times as the API of Kubernetes writes them."""

from datetime import UTC, datetime


def present_time() -> str:
    """Return the present time as a Time of meta/v1: in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
