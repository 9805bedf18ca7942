"""Requests in a namespace whose RoleBinding the API server does not know of yet."""

from collections.abc import Iterator
from typing import cast

import msgspec
import pytest
from lnamespace.gateway.upstream.retrying import send_until_granted
from lnamespace.http.upstream_connection import UpstreamResponse
from lnamespace.model.names import Names

ACCOUNT = Names("team1.example.com").cluster_account("acme").username
WORDS = f'secrets is forbidden: User "{ACCOUNT}" cannot create resource "secrets"'
NAMED = WORDS.replace("secrets is", 'secrets "x" is')


def status(message: str) -> bytes:
    return msgspec.json.encode({"kind": "Status", "message": message, "code": 403})


LACKS = status(WORDS)
QUOTA = status('pods "x" is forbidden: exceeded quota: platform')
WEBHOOK = status(f'admission webhook "a.example.com" denied the request: {WORDS}')
POLICY = status(f"pods \"x\" is forbidden: ValidatingAdmissionPolicy 'a' denied request: {NAMED}")


class Answers:
    """An API server that gives these answers, one after the other."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self._answers: Iterator[tuple[int, bytes]] = iter(answers)
        self.status, self._body = 0, b""
        self.sent = 0

    async def send(self) -> UpstreamResponse:
        self.status, self._body = next(self._answers)
        self.sent += 1
        return cast(UpstreamResponse, self)

    async def read(self) -> bytes:
        return self._body


async def test_a_request_is_retried_until_the_api_server_knows_a_new_binding() -> None:
    answers = Answers((403, LACKS), (403, status(NAMED)), (201, b"{}"))
    response = await send_until_granted(answers.send, lambda: True)
    assert (response.status, await response.read(), answers.sent) == (201, b"{}", 3)


@pytest.mark.parametrize(
    ("refusal", "fresh"),
    [
        pytest.param(LACKS, False, id="the binding is old: the right is not there"),
        pytest.param(QUOTA, True, id="admission refused: it would refuse again"),
        pytest.param(WEBHOOK, True, id="a tenant's webhook uses the authorizer's words"),
        pytest.param(POLICY, True, id="a tenant's policy uses the authorizer's words"),
        pytest.param(b"no JSON", True, id="a text of somebody in between"),
    ],
)
async def test_another_refusal_is_passed_on_at_once(refusal: bytes, fresh: bool) -> None:
    answers = Answers((403, refusal))
    response = await send_until_granted(answers.send, lambda: fresh)
    assert (response.status, await response.read(), answers.sent) == (403, refusal, 1)
