"""ConversionReviews (apiextensions.k8s.io/v1): convert objects to the version that is asked for.

One object that cannot be converted fails a whole list, for everybody;
:mod:`lnamespace.model.conversion` says why no tenant can write such an object. Managed fields may
be nested as deeply as the API server takes them.

Decoded JSON takes up to thirty times the memory of its bytes. Only one object is decoded at a time,
so that a review costs the memory of the request and of the answer, whatever is in it.
"""

from io import BytesIO
from typing import Annotated, Any, Literal

import msgspec

from lnamespace.admission.decisions.review import name_of
from lnamespace.errors import ModelError, ReviewError
from lnamespace.model import lnamespace
from lnamespace.model.conversion import convert_manifest
from lnamespace.model.names import Names
from lnamespace.nesting import at_any_depth

API_VERSION = "apiextensions.k8s.io/v1"
KIND = "ConversionReview"

OBJECTS_MAX = 20_000
"""Objects of one review; the API server itself sends one, or a page of a list."""

OBJECT_MAX = 4 * 1024**2
"""Bytes of one object; the API server accepts 3 MiB, and etcd half of that."""

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _ConversionRequest(msgspec.Struct, frozen=True):
    uid: Annotated[str, msgspec.Meta(min_length=1)]
    desired: str = msgspec.field(name="desiredAPIVersion")
    objects: msgspec.Raw = msgspec.Raw(b"[]")


class _ConversionReview(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    request: _ConversionRequest


class _KindOnly(msgspec.Struct, frozen=True, gc=False):
    """The kind of an object, and nothing else of it.

    A list of these takes little memory. The kind must be there, so that a body of a given size
    has room for fewer objects than ``[{},{},...]`` would have.
    """

    kind: Literal["LNamespace"]


_decoder = msgspec.json.Decoder(_ConversionReview)
_kinds = msgspec.json.Decoder(tuple[_KindOnly, ...])
_pieces = msgspec.json.Decoder(tuple[msgspec.Raw, ...])


def convert(body: bytes, names: Names) -> bytes:
    """Convert all objects of a review, in their order, or say why one of them cannot be converted.

    Returns
    -------
    bytes
        A ConversionReview with the response.

    Raises
    ------
    ReviewError
        The body is not a ConversionReview of :data:`API_VERSION`.
    """
    request = _decode(body)
    try:
        return at_any_depth(_success, request, names)
    except (ModelError, RecursionError) as error:
        failure = {"status": "Failed", "message": _message(error)}
        return _answer({"uid": request.uid, "convertedObjects": [], "result": failure})


def _decode(body: bytes) -> _ConversionRequest:
    try:
        review = at_any_depth(_decoder.decode, body)
    except _UNREADABLE as error:
        raise ReviewError(f"not a {KIND}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        raise ReviewError(f"expected a {KIND} of {API_VERSION}")
    return review.request


def _success(request: _ConversionRequest, names: Names) -> bytes:
    group, _, version = request.desired.partition("/")
    if group != names.group:
        raise ModelError(f"only versions of {names.group} are converted, not {request.desired}")
    head, tail = _frame(request.uid)
    answer = BytesIO()
    answer.write(head)
    for index, piece in enumerate(_split(request.objects)):
        answer.write(b"," if index else b"")
        answer.write(_object(index, piece, version, names))
    answer.write(tail)
    return answer.getvalue()


def _frame(uid: str) -> tuple[bytes, bytes]:
    """Return the bytes of the answer before and after the objects."""
    success = {"uid": uid, "result": {"status": "Success"}, "convertedObjects": []}
    head, bracket, tail = _answer(success).rpartition(b"]")
    return head, bracket + tail


def _split(objects: msgspec.Raw) -> tuple[msgspec.Raw, ...]:
    try:
        count = len(_kinds.decode(objects))
    except msgspec.ValidationError as error:
        raise _shapeless(error) from error
    if count > OBJECTS_MAX:
        raise ModelError(f"at most {OBJECTS_MAX} objects are converted at once, not {count}")
    return _pieces.decode(objects)


def _shapeless(error: msgspec.ValidationError) -> Exception:
    """Return the error that names the object by its index and shows nothing of its content."""
    place = str(error).rpartition("`$[")[2].partition("]")[0]
    if not place.isdecimal():
        return ReviewError(f"not a {KIND}: request.objects is no list")
    return ModelError(f"objects[{place}]: not an {lnamespace.KIND}")


def _object(index: int, piece: msgspec.Raw, version: str, names: Names) -> bytes:
    if len(memoryview(piece)) > OBJECT_MAX:
        raise ModelError(f"objects[{index}]: larger than {OBJECT_MAX} bytes")
    item = msgspec.json.decode(piece)
    try:
        return msgspec.json.encode(convert_manifest(item, version, names))
    except ModelError as error:
        name = name_of(item)
        named = "" if name is None else f" {name!r}"
        raise ModelError(f"objects[{index}]{named}: {error}") from error


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, ModelError) else "an object is nested too deeply"


def _answer(response: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})
