"""Whose answer it was that the API server passed on."""

import pytest
from lnamespace.commands.check import webhook_problem
from lnamespace.errors import Forbidden

OURS = "lnamespace-webhook.tenancy.loblaw.digital"


@pytest.mark.parametrize(
    ("told", "reached"),
    [
        (f'admission webhook "people.{OURS}" denied the request: no', True),
        (f'failed calling webhook "people.{OURS}": connection refused', False),
    ],
)
def test_a_refusal_shows_whether_the_webhook_was_reached(told: str, reached: bool) -> None:
    assert (webhook_problem(Forbidden(told), OURS) == "") is reached


@pytest.mark.parametrize(
    "told",
    [
        'admission webhook "validate.kyverno.svc-fail" denied the request: no',
        'failed calling webhook "validate.kyverno.svc-fail": connection refused',
        "lnamespaces is forbidden",
    ],
)
def test_a_refusal_by_another_webhook_is_not_attributed_to_ours(told: str) -> None:
    """The refusal of a policy engine was taken for an answer of the webhook."""
    with pytest.raises(Forbidden):
        webhook_problem(Forbidden(told), OURS)
