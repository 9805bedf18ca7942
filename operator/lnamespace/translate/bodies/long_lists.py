"""Translate a long list or table in steps, between which others may run."""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from time import perf_counter

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder, encode

from lnamespace.nesting import at_any_depth
from lnamespace.translate.bodies.answers import AnswerTranslator
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.translators import Encoded, ForeignObject, object_of, text_at
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.verbs import SELECTING_VERBS

LONG_ANSWER = 256 * 1024
"""Bytes of an answer that take a millisecond or two."""
STEPPED = 32 * 1024
"""Bytes of a list that is translated in steps. A hundred Events of 1 KiB whose messages name the
tenant again and again took half a second, so a list is not done in one step because it is short."""
_STEP = LONG_ANSWER
_SECONDS = 0.002
"""The time after which a step ends, whatever the bytes: some objects take a hundred times longer
than others of their length, for one Events whose messages name the tenant again and again."""
_ITEM = 1024
"""The memory that an object needs besides its bytes, in bytes."""
_GROUP = 64 * 1024
"""Bytes of objects that are translated together, where that is possible."""
_SPLICED = 4
"""How many times cheaper spliced objects are."""
_ROWS = 2 * 1024
"""Bytes of rows of a table that are translated together."""

_HEAD = re.compile(
    rb'\{"kind":"[A-Za-z]+List","apiVersion":"[^"\\]*","metadata":\{[^{}\[\]\\]*\},"items":(?=\[)'
)
"""How the API server begins a list of its own kinds, whose last member are the items."""

_items_of = Decoder(list[Raw]).decode
_item_of = Decoder(dict[str, Raw]).decode


@dataclass
class _StepTimer:
    """A timer of steps that says when to pause for other tasks."""

    _began: float
    _done: int = 0

    def is_due(self, size: int) -> bool:
        """Count some bytes of work; return whether to pause, and begin the next step if so."""
        self._done += size
        now = perf_counter()
        if self._done <= _STEP and now - self._began < _SECONDS:
            return False
        self._done, self._began = 0, now
        return True


def answer_down_in_steps(
    request: ResourceRequest, body: bytes, view: TenantView
) -> Generator[None, None, bytes]:
    """Return an answer in JSON in tenant spelling; pause after every few objects of a long list.

    Raises
    ------
    Refused
        As :func:`~lnamespace.translate.bodies.encoded.answer_down`.
    """
    members = _list_members(request, body) if len(body) > STEPPED else None
    key = "rows" if members and _is_table(members) else "items"
    items = _items(members, key) if members else None
    if members is None or items is None:
        return answer_down(request, body, view)
    yield
    own, translator, timer = (
        list[bytes](),
        AnswerTranslator(request, view),
        _StepTimer(perf_counter()),
    )
    parts = _rows(translator, members, items) if key == "rows" else _objects(translator, items)
    for lines, cost in parts:
        own.extend(lines)
        if timer.is_due(cost):
            yield
    del items
    yield
    # The list without its items: its other members are translated as those of any list.
    members = translator.answer(members | {key: Raw(b"[]")})
    return _joined(members, key, own, b"\n" if body.endswith(b"\n") else b"")


_Part = tuple[list[bytes], int]
"""Objects of a list or rows of a table in tenant spelling, and what they cost in bytes."""


def _objects(translator: AnswerTranslator, items: list[Raw]) -> Iterator[_Part]:
    for some in _groups(items, _GROUP):
        spliced = translator.spliced_items(some)
        if spliced is not None:
            yield [spliced], len(spliced) // _SPLICED
            continue
        for item in some:
            # From the bytes of the one object: it is read once more if it is nested too deep.
            line = at_any_depth(_item_down, translator, item)
            yield [] if line is None else [line], memoryview(item).nbytes + _ITEM


def _rows(translator: AnswerTranslator, members: Encoded, rows: list[Raw]) -> Iterator[_Part]:
    """Translate rows as tables of a few rows, each with the columns, which cells depend on."""
    for some in _groups(rows, _ROWS):
        table = members | {"rows": Raw(b"[%b]" % b",".join(some))}
        line = at_any_depth(_rows_down, translator, table)
        yield [line] if line else [], sum(memoryview(each).nbytes + _ITEM for each in some)


def _groups(items: list[Raw], most: int) -> Iterator[list[Raw]]:
    """Yield the objects in groups of about ``most`` bytes."""
    group, size = list[Raw](), 0
    for item in items:
        group.append(item)
        size += memoryview(item).nbytes
        if size > most:
            yield group
            group, size = [], 0
    if group:
        yield group


def _joined(members: Encoded, key: str, items: list[bytes], end: bytes) -> bytes:
    """Return a list as JSON, with its members in their order; its objects are copied once."""
    keys = list(members)
    index = keys.index(key)
    before = encode({each: members[each] for each in keys[:index]})[:-1] + b"," * bool(index)
    after = encode({each: members[each] for each in keys[index + 1 :]})[1:]
    head = before + encode(key) + b":["
    tail = b"]" + b"," * (len(after) > 1) + after + end
    if not items:
        return head + tail
    items[0] = head + items[0]
    items[-1] += tail
    return b",".join(items)


def _list_members(request: ResourceRequest, body: bytes) -> Encoded | None:
    """Return the members of a list; None if it is none, or is to be translated in one go."""
    if request.verb not in SELECTING_VERBS:
        return None
    try:
        members = _cut_members(body) or at_any_depth(_members, body)
        kind = text_at(members, "kind")
    except (MsgspecError, RecursionError):
        return None
    listed = kind.endswith("List") and "items" in members
    return members if listed or _is_table(members) else None


def _cut_members(body: bytes) -> Encoded:
    """Return the members of a list by its two ends; empty if it may be something else.

    What is cut out as its items is a list if it can be decoded, so the items are read once.
    """
    head = _HEAD.match(body)
    if head is None or not body.endswith(b"]}\n"):
        return {}
    return _members(head.group() + b"0}") | {"items": Raw(memoryview(body)[head.end() : -2])}


def _is_table(members: Encoded) -> bool:
    """Return whether the members are a table's: kubectl asks for tables of every list."""
    version = text_at(members, "apiVersion")
    of_tables = version.startswith("meta.k8s.io/") and "rows" in members
    return of_tables and text_at(members, "kind") == "Table"


def _items(members: Encoded, key: str) -> list[Raw] | None:
    """Return the objects or rows; None if something else is among them."""
    try:
        items = at_any_depth(_items_of, members[key])
    except (MsgspecError, RecursionError):
        return None
    return items if all(memoryview(each)[0] == ord("{") for each in items) else None


def _members(body: bytes) -> Encoded:
    return object_of(body) or {}


def _item_down(translator: AnswerTranslator, item: Raw) -> bytes | None:
    try:
        return encode(translator.item(_item_of(item)))
    except ForeignObject:
        return None


def _rows_down(translator: AnswerTranslator, table: Encoded) -> bytes:
    """Return the rows of a table, joined by commas."""
    return encode(translator.answer(dict(table))["rows"])[1:-1]
