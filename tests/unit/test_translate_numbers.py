"""Numbers in a query are read as the API server reads them."""

import pytest
from lnamespace.translate.protocol.numbers import parse_number
from lnamespace.translate.protocol.status import Refused


@pytest.mark.parametrize("number", ["0", "500", "-1", "+7", "9223372036854775807"])
def test_a_valid_number_is_parsed(number: str) -> None:
    assert parse_number(number) == int(number)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abc", "invalid syntax"),
        ("1e3", "invalid syntax"),
        ("\u0661", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
)
def test_an_invalid_number_is_refused_in_the_words_of_the_api_server(
    text: str, problem: str
) -> None:
    with pytest.raises(Refused) as refused:
        parse_number(text)
    assert refused.value.status.code == 400
    assert refused.value.status.message.endswith(problem)
