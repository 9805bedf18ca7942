"""Continue tokens are sealed, and good for one list."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.requests.continuation import (
    MAX_AGE,
    ListPosition,
    list_binding,
    seal,
    unseal,
)

from tests.unit.support.served import DEPLOYMENTS, PODS

KEY, OTHER_KEY, NONCE = b"k" * 32, b"o" * 32, b"n" * 12
LIST = ResourceRequest("list", PODS, "v1", "prod", query=(("labelSelector", "a=b"),))
BINDING = list_binding(LIST, "acme")
POSITION = ListPosition("acme-prod", "eyJ2IjoibWV0YSJ9", "1234")
TOKEN = seal(POSITION, BINDING, KEY, NONCE, 1000.0)


def refusal(token: str, binding: bytes = BINDING, now: float = 1000.0) -> tuple[int, str]:
    with pytest.raises(Refused) as refused:
        unseal(token, binding, [KEY], now)
    return refused.value.status.code, refused.value.status.reason


@given(st.builds(ListPosition, st.text(), st.text(), st.text()))
def test_a_list_position_round_trips_through_its_token(position: ListPosition) -> None:
    token = seal(position, BINDING, KEY, NONCE, 1000.0)
    assert unseal(token, BINDING, [KEY], 1000.0 + MAX_AGE) == position


def test_a_token_sealed_with_the_previous_key_is_accepted() -> None:
    assert unseal(TOKEN, BINDING, [OTHER_KEY, KEY], 1000.0) == POSITION


def test_a_token_sealed_with_a_removed_key_is_expired() -> None:
    with pytest.raises(Refused) as refused:
        unseal(TOKEN, BINDING, [OTHER_KEY], 1000.0)
    assert refused.value.status.code == 410


def test_an_old_token_is_expired() -> None:
    assert refusal(TOKEN, now=1001.0 + MAX_AGE) == (410, "Expired")


@pytest.mark.parametrize(
    "binding",
    [
        list_binding(LIST, "beta"),
        list_binding(replace(LIST, resource=DEPLOYMENTS), "acme"),
        list_binding(replace(LIST, namespace=""), "acme"),
        list_binding(replace(LIST, namespace="test"), "acme"),
        list_binding(replace(LIST, query=()), "acme"),
        list_binding(replace(LIST, query=(*LIST.query, ("fieldSelector", "x=y"))), "acme"),
    ],
)
def test_a_token_of_another_list_is_refused(binding: bytes) -> None:
    assert refusal(TOKEN, binding) == (400, "BadRequest")


@given(st.integers(min_value=0, max_value=10_000), st.integers(min_value=1, max_value=255))
def test_an_edited_token_is_refused(place: int, change: int) -> None:
    raw = bytearray(urlsafe_b64decode(TOKEN + "=" * (-len(TOKEN) % 4)))
    raw[place % len(raw)] ^= change
    with pytest.raises(Refused):
        unseal(urlsafe_b64encode(raw).decode(), BINDING, [KEY], 1000.0)


@pytest.mark.parametrize("token", ["", "x", "ä", "a b", TOKEN[:-8], "A" * 40, "A" * 20_000])
def test_a_malformed_token_is_refused(token: str) -> None:
    assert refusal(token)[0] in {400, 410}


def test_a_token_reveals_neither_names_nor_their_length() -> None:
    raw = urlsafe_b64decode(TOKEN + "=" * (-len(TOKEN) % 4))
    assert b"acme" not in raw
    longer = replace_part(POSITION, "acme-pro")
    assert len(seal(longer, BINDING, KEY, NONCE, 1000.0)) == len(TOKEN)


def replace_part(position: ListPosition, part: str) -> ListPosition:
    return ListPosition(part, position.upstream, position.version)
