"""What the service answers when it does not do what was asked."""

from typing import Any


class ApiError(Exception):
    """An error with the HTTP status and the reason that BigQuery gives for it.

    Source of the pairs: BigQuery's "Error messages" page.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message

    @property
    def detail(self) -> dict[str, str]:
        """Return the error as it stands in a job's status."""
        return {"reason": self.reason, "message": self.message, "domain": "global"}

    @property
    def body(self) -> dict[str, Any]:
        """Return the error as it is answered."""
        return {
            "error": {"code": self.status, "message": self.message, "errors": [self.detail]},
        }


def invalid_query(message: str) -> ApiError:
    """Return the error of a statement that is wrong, or has a wrong value."""
    return ApiError(400, "invalidQuery", message)


def invalid(message: str) -> ApiError:
    """Return the error of a request that is wrong."""
    return ApiError(400, "invalid", message)


def not_found(what: str) -> ApiError:
    """There is no such dataset, table or job."""
    return ApiError(404, "notFound", f"Not found: {what}")


def duplicate(what: str) -> ApiError:
    """There is one already."""
    return ApiError(409, "duplicate", f"Already Exists: {what}")


def rate_limited(message: str) -> ApiError:
    """Too much in too short a time."""
    return ApiError(403, "rateLimitExceeded", f"Exceeded rate limits: {message}")
