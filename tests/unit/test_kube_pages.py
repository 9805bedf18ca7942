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


def test_the_page_limit_grows_to_its_maximum_for_small_objects() -> None:
    assert sizes(1_000, 5) == [FIRST, 200, 800, MOST, MOST]


def test_the_page_limit_shrinks_for_large_objects() -> None:
    """With 1,000 at once of 750 KB a list did not arrive in time, nor fit into memory."""
    assert sizes(750_000, 3) == [FIRST, 2, 2]


def test_the_page_limit_is_one_for_objects_larger_than_the_byte_limit() -> None:
    assert sizes(3 * BYTES, 3) == [FIRST, 1, 1]


def test_the_page_limit_is_halved_after_each_failed_page() -> None:
    size, found = PageSize(), []
    for _ in range(8):
        found.append(size.limit)
        size.failed()
    assert found == [50, 25, 12, 6, 3, 1, 1, 1]


def test_an_empty_page_increases_the_page_limit() -> None:
    size = PageSize()
    size.arrived(0)
    assert size.limit == FIRST * 4


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**32)), max_size=30))
def test_the_page_limit_stays_between_one_and_the_maximum(happened: list[int | None]) -> None:
    size = PageSize()
    for what in happened:
        size.failed() if what is None else size.arrived(what)
        assert 1 <= size.limit <= MOST
