"""Translate a long list in steps, between which others may run."""

from collections.abc import Generator

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder, encode

from lnamespace.kube.nesting import at_any_depth
from lnamespace.translate.answers import LISTING, AnswerTranslator, encoded
from lnamespace.translate.bodies import answer_down
from lnamespace.translate.media_types import JSON
from lnamespace.translate.plans import Encoded, Foreign, object_of, text_of
from lnamespace.translate.request import ResourceRequest
from lnamespace.translate.view import View

LONG = 256 * 1024
"""Bytes of an answer that take a millisecond or two."""
_STEP = LONG
_ITEM = 1024
"""The memory that an object needs besides its bytes, in bytes."""

_items_of = Decoder(list[Raw]).decode
_item_of = Decoder(dict[str, Raw]).decode


def answer_down_in_steps(
    request: ResourceRequest, body: bytes, view: View
) -> Generator[None, None, bytes]:
    """Return an answer in JSON in tenant spelling; pause after every few objects of a long list.

    Raises
    ------
    Refused
        As :func:`~lnamespace.translate.bodies.answer_down`.
    """
    items = _items(request, body) if len(body) > LONG else None
    if items is None:
        return answer_down(request, JSON, body, view)
    yield
    own, translator = list[bytes](), AnswerTranslator(request, view)
    done = 0
    for item in items:
        # From the bytes of the one object: it is read once more if it is nested too deep.
        line = at_any_depth(_item_down, translator, item)
        if line is not None:
            own.append(line)
        done += memoryview(item).nbytes + _ITEM
        if done > _STEP:
            done = 0
            yield
    del items
    listed = Raw(b"[" + b",".join(own) + b"]")
    del own
    yield
    members = at_any_depth(_members, body)
    # Of a list without items: what else a list has is translated as that of any.
    members = translator.answer(members | {"items": Raw(b"[]")})
    return encoded(members | {"items": listed}, body)


def _items(request: ResourceRequest, body: bytes) -> list[Raw] | None:
    """Return the objects of a list; None if it is none, or is to be translated in one go."""
    if request.verb not in LISTING:
        return None
    try:
        members = at_any_depth(_members, body)
        kind = text_of(members.get("kind", b"null")) or ""
        if not kind.endswith("List") or "items" not in members:
            return None
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
