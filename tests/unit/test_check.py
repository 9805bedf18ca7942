"""Whose answer it was that the API server passed on."""

import pytest
from lnamespace.check import webhook_problem
from lnamespace.errors import Forbidden

OURS = "lnamespace-webhook.tenancy.loblaw.digital"


@pytest.mark.parametrize(
    ("told", "reached"),
    [
        (f'admission webhook "people.{OURS}" denied the request: no', True),
        (f'failed calling webhook "people.{OURS}": connection refused', False),
    ],
)
def test_who_is_refused_by_our_webhook_has_its_answer(told: str, reached: bool) -> None:
    assert (webhook_problem(Forbidden(told), OURS) == "") is reached


@pytest.mark.parametrize(
    "told",
    [
        'admission webhook "validate.kyverno.svc-fail" denied the request: no',
        'failed calling webhook "validate.kyverno.svc-fail": connection refused',
        "lnamespaces is forbidden",
    ],
)
def test_others_webhooks_say_nothing_of_ours(told: str) -> None:
    """A policy engine that refused was taken for the webhook, which nobody had asked."""
    with pytest.raises(Forbidden):
        webhook_problem(Forbidden(told), OURS)
