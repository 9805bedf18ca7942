"""Pages have as many objects as fit into a bound of bytes."""

import asyncio
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.kube.client import Client
from lnamespace.kube.pages import BYTES, FIRST, LONGEST, MOST, PageSize, list_objects
from lnamespace.kube.resources import NAMESPACE

from tests.unit.support.server import DEADLINE, client_of, serving


def sizes(each: int, pages: int) -> list[int]:
    """Return how many objects of so many bytes are asked for, page by page."""
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


async def names_of(client: Client) -> list[str]:
    """Return the names of all Namespaces, as they are listed."""
    found = [msgspec.json.decode(raw) async for raw in list_objects(client, NAMESPACE)]
    return [each["metadata"]["name"] for each in found]


def page(names: list[str], more: str = "", padding: int = 0) -> dict[str, Any]:
    items = [{"metadata": {"name": name}, "padding": "x" * padding} for name in names]
    return {"metadata": {"continue": more}, "items": items}


async def test_a_page_that_is_too_large_is_not_read_on_and_asked_for_with_fewer_objects() -> None:
    """Small objects raise the limit; 1,000 of a megabyte that follow would take all memory."""
    async with serving() as server, client_of(server.url) as client:
        listing = asyncio.create_task(names_of(client))
        (await server.next("GET", limit="50")).answer(page(["a"], "more"))
        (await server.next("GET", limit="200")).answer(page(["b", "c"], "", LONGEST))
        fewer = await server.next("GET", limit="50", **{"continue": "more"})
        fewer.answer(page(["b"], "rest"))
        (await server.next("GET", **{"continue": "rest"})).answer(page(["c"]))
        async with asyncio.timeout(DEADLINE):
            assert await listing == ["a", "b", "c"]


async def test_a_single_object_is_read_however_large_it_is() -> None:
    async with serving() as server, client_of(server.url) as client:
        listing = asyncio.create_task(names_of(client))
        for limit in ("50", "12", "3", "1"):
            (await server.next("GET", limit=limit)).answer(page(["a"], "", LONGEST))
        async with asyncio.timeout(DEADLINE):
            assert await listing == ["a"]


def test_a_page_of_one_object_has_no_bound() -> None:
    size = PageSize()
    assert size.longest == LONGEST
    size.limit = 1
    assert size.longest is None
