"""What is wrong with which field, in the words of Kubernetes' own messages (field.Error)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lnamespace.model.lnamespace import KIND
from lnamespace.model.names import Names

_SHOWN_MAX = 200
_NAMED_MAX = 10


class Fault(Enum):
    """The sort of an error: its words, and its cause (meta/v1 CauseType)."""

    INVALID = "Invalid value", "FieldValueInvalid"
    REQUIRED = "Required value", "FieldValueRequired"
    FORBIDDEN = "Forbidden", "FieldValueForbidden"
    TOO_LONG = "Too long", "FieldValueTooLong"

    @property
    def words(self) -> str:
        """As the message says it."""
        return str(self.value[0])

    @property
    def cause(self) -> str:
        """As a program reads it."""
        return str(self.value[1])


@dataclass(frozen=True)
class FieldError:
    """One thing that is wrong; ``path`` as in ``spec.users[0].name``."""

    fault: Fault
    path: str
    detail: str
    value: Any = None

    @property
    def body(self) -> str:
        """The message without its path."""
        shown = f": {_shown(self.value)}" if self.fault is Fault.INVALID else ""
        return f"{self.fault.words}{shown}: {self.detail}"

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """A value that cannot stand."""
    return FieldError(Fault.INVALID, path, detail, value)


def required(path: str, detail: str) -> FieldError:
    """A value that must be there."""
    return FieldError(Fault.REQUIRED, path, detail)


def too_long(path: str, detail: str) -> FieldError:
    """More than there is room for."""
    return FieldError(Fault.TOO_LONG, path, detail)


def forbidden(path: str, detail: str) -> FieldError:
    """A change that this caller may not make."""
    return FieldError(Fault.FORBIDDEN, path, detail)


def status(names: Names, name: str, errors: Sequence[FieldError]) -> dict[str, Any]:
    """The meta/v1 Status that tells all errors at once (apierrors.NewInvalid)."""
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": f'{KIND}.{names.group} "{name}" is invalid: {_all(errors[:_NAMED_MAX])}',
        "details": {
            "name": name,
            "group": names.group,
            "kind": KIND,
            "causes": [
                {"reason": error.fault.cause, "message": error.body, "field": error.path}
                for error in errors
            ],
        },
    }


def _all(errors: Iterable[FieldError]) -> str:
    texts = [str(error) for error in errors]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _shown(value: Any) -> str:
    """A value as JSON, so that nothing in it can be mistaken for a part of the message."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
