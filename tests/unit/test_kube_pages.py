"""Pages have as many objects as fit into a bound of bytes."""

from hypothesis import given
from hypothesis import strategies as st
from lnamespace.kube.pages import BYTES, FIRST, MOST, PageSize


def sizes(each: int, pages: int) -> list[int]:
    """How many objects of so many bytes are asked for, page by page."""
    size, found = PageSize(), []
    for _ in range(pages):
        found.append(size.limit)
        size.arrived(size.limit * each)
    return found


def test_small_objects_come_a_thousand_at_once_soon() -> None:
    assert sizes(1_000, 5) == [FIRST, 200, 800, MOST, MOST]


def test_large_objects_come_a_few_at_once() -> None:
    """With 1,000 at once of 750 KB a list did not arrive in time, nor fit into memory."""
    assert sizes(750_000, 3) == [FIRST, 2, 2]


def test_one_larger_than_the_bound_comes_alone() -> None:
    assert sizes(3 * BYTES, 3) == [FIRST, 1, 1]


def test_a_page_that_does_not_come_is_asked_for_by_halves() -> None:
    size, found = PageSize(), []
    for _ in range(8):
        found.append(size.limit)
        size.failed()
    assert found == [50, 25, 12, 6, 3, 1, 1, 1]


def test_an_empty_page_bounds_nothing() -> None:
    size = PageSize()
    size.arrived(0)
    assert size.limit == FIRST * 4


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**32)), max_size=30))
def test_there_is_always_one_to_ask_for_and_never_too_many(happened: list[int | None]) -> None:
    size = PageSize()
    for what in happened:
        size.failed() if what is None else size.arrived(what)
        assert 1 <= size.limit <= MOST
