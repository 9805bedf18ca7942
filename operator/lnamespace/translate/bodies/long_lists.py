"""Translate a long list in steps, between which others may run."""

from collections.abc import Generator, Iterator

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder, encode

from lnamespace.nesting import at_any_depth
from lnamespace.translate.bodies.answers import LISTING, AnswerTranslator
from lnamespace.translate.bodies.encoded import answer_down
from lnamespace.translate.names.view import View
from lnamespace.translate.objects.plans import Encoded, Foreign, object_of, text_of
from lnamespace.translate.protocol.media_types import JSON
from lnamespace.translate.protocol.request import ResourceRequest

LONG = 256 * 1024
"""Bytes of an answer that take a millisecond or two."""
_STEP = LONG
_ITEM = 1024
"""The memory that an object needs besides its bytes, in bytes."""
_GROUP = 64 * 1024
"""Bytes of objects that are translated together, where that is possible."""
_SPLICED = 4
"""How many times cheaper spliced objects are."""

_items_of = Decoder(list[Raw]).decode
_item_of = Decoder(dict[str, Raw]).decode


def answer_down_in_steps(
    request: ResourceRequest, body: bytes, view: View
) -> Generator[None, None, bytes]:
    """Return an answer in JSON in tenant spelling; pause after every few objects of a long list.

    Raises
    ------
    Refused
        As :func:`~lnamespace.translate.bodies.encoded.answer_down`.
    """
    members = _list_members(request, body) if len(body) > LONG else None
    items = _items(members) if members else None
    if members is None or items is None:
        return answer_down(request, JSON, body, view)
    yield
    own, translator = list[bytes](), AnswerTranslator(request, view)
    done = 0
    for some in _groups(items):
        spliced = translator.spliced_items(some)
        if spliced is not None:
            own.append(spliced)
            done += len(spliced) // _SPLICED
        else:
            for item in some:
                # From the bytes of the one object: it is read once more if it is nested too deep.
                line = at_any_depth(_item_down, translator, item)
                if line is not None:
                    own.append(line)
                done += memoryview(item).nbytes + _ITEM
        if done > _STEP:
            done = 0
            yield
    del items
    yield
    # Of a list without items: what else a list has is translated as that of any.
    members = translator.answer(members | {"items": Raw(b"[]")})
    return _joined(members, own, b"\n" if body.endswith(b"\n") else b"")


def _groups(items: list[Raw]) -> Iterator[list[Raw]]:
    """Yield the objects in groups of about ``_GROUP`` bytes."""
    group, size = list[Raw](), 0
    for item in items:
        group.append(item)
        size += memoryview(item).nbytes
        if size > _GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _joined(members: Encoded, items: list[bytes], end: bytes) -> bytes:
    """Return a list as JSON, with its members in their order; its objects are copied once."""
    keys = list(members)
    index = keys.index("items")
    before = encode({key: members[key] for key in keys[:index]})[:-1] + b"," * bool(index)
    after = encode({key: members[key] for key in keys[index + 1 :]})[1:]
    head = before + b'"items":['
    tail = b"]" + b"," * (len(after) > 1) + after + end
    if not items:
        return head + tail
    items[0] = head + items[0]
    items[-1] += tail
    return b",".join(items)


def _list_members(request: ResourceRequest, body: bytes) -> Encoded | None:
    """Return the members of a list; None if it is none, or is to be translated in one go."""
    if request.verb not in LISTING:
        return None
    try:
        members = at_any_depth(_members, body)
        kind = text_of(members.get("kind", b"null")) or ""
    except (MsgspecError, RecursionError):
        return None
    return members if kind.endswith("List") and "items" in members else None


def _items(members: Encoded) -> list[Raw] | None:
    """Return the objects of a list; None if something else is among them."""
    try:
        items = at_any_depth(_items_of, members["items"])
    except (MsgspecError, RecursionError):
        return None
    return items if all(memoryview(each)[0] == ord("{") for each in items) else None


def _members(body: bytes) -> Encoded:
    return object_of(body) or {}


def _item_down(translator: AnswerTranslator, item: Raw) -> bytes | None:
    try:
        return encode(translator.item(_item_of(item)))
    except Foreign:
        return None
