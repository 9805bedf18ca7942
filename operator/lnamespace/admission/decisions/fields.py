"""Field errors, with the messages that Kubernetes itself writes (apimachinery field.Error)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lnamespace.model.names import Names

_SHOWN_MAX = 200
_NAMED_MAX = 10


class ErrorType(Enum):
    """The types of field errors, in the words of the message and of meta/v1 CauseType."""

    INVALID = "Invalid value", "FieldValueInvalid"
    REQUIRED = "Required value", "FieldValueRequired"
    FORBIDDEN = "Forbidden", "FieldValueForbidden"
    TOO_LONG = "Too long", "FieldValueTooLong"

    @property
    def words(self) -> str:
        """Return the words with which the message begins."""
        return str(self.value[0])

    @property
    def cause(self) -> str:
        """Return the meta/v1 CauseType."""
        return str(self.value[1])


@dataclass(frozen=True)
class FieldError:
    """An error of the field at ``path``, such as ``spec.users[0].name``."""

    type: ErrorType
    path: str
    detail: str
    value: Any = None

    @property
    def body(self) -> str:
        """Return the message without its path."""
        shown = f": {_shown(self.value)}" if self.type is ErrorType.INVALID else ""
        return f"{self.type.words}{shown}: {self.detail}"

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """Return the error for a value that is not allowed."""
    return FieldError(ErrorType.INVALID, path, detail, value)


def required(path: str, detail: str) -> FieldError:
    """Return the error for a value that is missing."""
    return FieldError(ErrorType.REQUIRED, path, detail)


def too_long(path: str, detail: str) -> FieldError:
    """Return the error for a value that is too long."""
    return FieldError(ErrorType.TOO_LONG, path, detail)


def forbidden(path: str, detail: str) -> FieldError:
    """Return the error for a change that this caller may not make."""
    return FieldError(ErrorType.FORBIDDEN, path, detail)


def invalid_status(
    names: Names, kind: str, name: str, errors: Sequence[FieldError]
) -> dict[str, Any]:
    """Return the meta/v1 Status with all errors, as apierrors.NewInvalid makes it."""
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": f'{kind}.{names.group} "{name}" is invalid: {_all(errors[:_NAMED_MAX])}',
        "details": {
            "name": name,
            "group": names.group,
            "kind": kind,
            "causes": [
                {"reason": error.type.cause, "message": error.body, "field": error.path}
                for error in errors
            ],
        },
    }


def _all(errors: Iterable[FieldError]) -> str:
    texts = [str(error) for error in errors]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _shown(value: Any) -> str:
    """Return a value as JSON, so that no part of it can be mistaken for the message."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
