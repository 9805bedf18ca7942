"""What is wrong with a field, as Kubernetes says it itself."""

import json

import pytest
from hypothesis import given
from lnamespace.admission.decisions.fields import (
    FieldError,
    forbidden,
    invalid,
    invalid_status,
    required,
)
from lnamespace.model.lnamespace import KIND
from lnamespace.model.names import Names

from tests.unit.support.admission import NAMES, json_values


@pytest.mark.parametrize(
    ("error", "text", "cause"),
    [
        (
            invalid("spec.users[0].name", "*", "must be one name"),
            'spec.users[0].name: Invalid value: "*": must be one name',
            "FieldValueInvalid",
        ),
        (
            invalid("spec.x", None, "wrong"),
            "spec.x: Invalid value: null: wrong",
            "FieldValueInvalid",
        ),
        (
            required("spec.managers", "somebody"),
            "spec.managers: Required value: somebody",
            "FieldValueRequired",
        ),
        (
            forbidden("spec.billing", "not yours"),
            "spec.billing: Forbidden: not yours",
            "FieldValueForbidden",
        ),
    ],
)
def test_errors_have_the_wording_of_kubernetes(error: FieldError, text: str, cause: str) -> None:
    assert str(error) == text
    (told,) = invalid_status(NAMES, KIND, "team-a", [error])["details"]["causes"]
    assert told == {"reason": cause, "message": error.body, "field": error.path}
    assert text == f"{error.path}: {told['message']}"


def test_several_errors_are_joined_in_brackets() -> None:
    one, two = required("spec.a", "x"), forbidden("spec.b", "y")
    head = 'LNamespace.tenancy.loblaw.digital "team-a" is invalid: '
    assert invalid_status(NAMES, KIND, "team-a", [one])["message"] == f"{head}{one}"
    assert invalid_status(NAMES, KIND, "team-a", [one, two])["message"] == f"{head}[{one}, {two}]"


def test_the_status_has_code_422_and_reason_invalid() -> None:
    told = invalid_status(Names("example.com"), KIND, "team-a", [required("spec.a", "x")])
    assert (told["code"], told["reason"], told["status"]) == (422, "Invalid", "Failure")
    details = told["details"]
    assert (details["name"], details["group"], details["kind"]) == (
        "team-a",
        "tenancy.example.com",
        "LNamespace",
    )


def test_a_message_with_very_many_errors_stays_short() -> None:
    errors = [invalid(f"spec.users[{i}].name", "x" * 10_000, "no") for i in range(1500)]
    told = invalid_status(NAMES, KIND, "team-a", errors)
    assert len(told["message"]) < 10_000
    assert len(told["details"]["causes"]) == 1500


@given(json_values)
def test_a_value_is_shown_as_json_on_one_line(value: object) -> None:
    text = str(invalid("spec.x", value, "no"))
    shown = text.removeprefix("spec.x: Invalid value: ").removesuffix(": no")
    assert "\n" not in text
    assert shown.isascii() or shown.endswith("…")
    assert shown.endswith("…") or json.loads(shown) == value


def test_a_value_cannot_imitate_the_rest_of_the_message() -> None:
    text = str(invalid("spec.x", 'a": fine\nspec.y: Forbidden: "', "no"))
    assert text == 'spec.x: Invalid value: "a\\": fine\\nspec.y: Forbidden: \\"": no'
