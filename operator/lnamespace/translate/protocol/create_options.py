"""Validate the options of a create that the gateway answers itself, as the API server does.

The rules are those of k8s.io/apimachinery/pkg/apis/meta/v1/validation (``ValidateCreateOptions``).
"""

from collections.abc import Iterator

from lnamespace.translate.protocol.quoting import go_quote
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Cause, invalid

FIELD_MANAGER_MAX_LENGTH = 128
"""In bytes, as k8s.io/apimachinery's FieldManagerMaxLength."""
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


def confirm_create_options(request: ResourceRequest) -> None:
    """Refuse invalid options of a create.

    Raises
    ------
    Refused
        Invalid, in the words of the API server.
    """
    causes = [*_manager_causes(request), *_dry_run_causes(request), *_validation_causes(request)]
    if causes:
        raise invalid("meta.k8s.io", "CreateOptions", "", causes)


def _manager_causes(request: ResourceRequest) -> Iterator[Cause]:
    manager = request.parameter("fieldManager") or ""
    if len(manager.encode()) > FIELD_MANAGER_MAX_LENGTH:
        message = f"Too long: may not be more than {FIELD_MANAGER_MAX_LENGTH} bytes"
        yield Cause("FieldValueTooLong", message, "fieldManager")
    for index, character in enumerate(manager):
        if not character.isprintable():
            place = f"U+{ord(character):04X} (at position {len(manager[:index].encode())})"
            message = f"Invalid value: {go_quote(manager)}: invalid character {place}"
            yield Cause("FieldValueInvalid", message, "fieldManager")


def _dry_run_causes(request: ResourceRequest) -> Iterator[Cause]:
    asked = [value for key, value in request.query if key == "dryRun"]
    if set(asked) - {"All"}:
        yield _unsupported("dryRun", f"[{','.join(map(go_quote, asked))}]", ("All",))


def _validation_causes(request: ResourceRequest) -> Iterator[Cause]:
    validation = request.parameter("fieldValidation") or ""
    if validation not in _VALIDATIONS:
        yield _unsupported("fieldValidation", go_quote(validation), _VALIDATIONS)


def _unsupported(field: str, value: str, supported: tuple[str, ...]) -> Cause:
    listed = ", ".join(f'"{each}"' for each in supported)
    message = f"Unsupported value: {value}: supported values: {listed}"
    return Cause("FieldValueNotSupported", message, field)
