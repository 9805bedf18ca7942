"""Messages whose form in JSON is another than their fields: times, quantities, embedded JSON.

Each has a function that makes JSON's value of the message's fields, and one for the way back.
None is JSON's null.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec

from lnamespace.translate.protocol.protobuf.wire import ProtobufError

Fields = Mapping[str, Any]

YEAR_1: Final = -62135596800
"""Go's zero time, in seconds; it is null in JSON."""
YEAR_0: Final = -62167219200
YEAR_10000: Final = 253402300800
_400_YEARS: Final = 146097 * 24 * 3600
"""Seconds after which the calendar is the same. Go has a year 0, and Python has none."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)

_json_encoder: Final = msgspec.json.Encoder(decimal_format="number")
json_decoder: Final = msgspec.json.Decoder(float_hook=Decimal)
"""Reads JSON so that a number with a fraction keeps its digits."""


@dataclass(frozen=True)
class SpecialForm:
    """The JSON of one type that is not written as its fields.

    Parameters
    ----------
    to_value
        Return JSON's value of the message's fields.
    to_fields
        Return the message's fields of JSON's value, which is not null.
    zero
        JSON's value of an empty message.
    """

    to_value: Callable[[Fields], Any]
    to_fields: Callable[[Any], Fields]
    zero: Any = None


def _instant(message: Fields) -> datetime | None:
    seconds, nanos = message["seconds"], message["nanos"] or 0
    if seconds is None:
        if message["nanos"] is None:
            return None
        seconds = 0
    if not YEAR_0 <= seconds < YEAR_10000 or not 0 <= nanos < 1_000_000_000:
        raise ProtobufError("a time is not between the years 0 and 9999")
    since = seconds if seconds >= YEAR_1 else seconds + _400_YEARS
    return EPOCH + timedelta(seconds=since, microseconds=nanos // 1000)


def _written(instant: datetime, message: Fields) -> str:
    text = instant.isoformat()[:19]
    return text if (message["seconds"] or 0) >= YEAR_1 else f"0000{text[4:]}"


def _since_epoch(value: str) -> tuple[int, timedelta]:
    """Return the whole seconds since 1970, and the rest."""
    if not value.startswith("0000"):
        return divmod(datetime.fromisoformat(value) - EPOCH, SECOND)
    seconds, rest = divmod(datetime.fromisoformat(f"0400{value[4:]}") - EPOCH, SECOND)
    return seconds - _400_YEARS, rest


def _time_value(message: Fields) -> str | None:
    instant = _instant(message)
    if instant is None or message["seconds"] == YEAR_1:
        return None
    return f"{_written(instant, message)}Z"  # protobuf may have nanoseconds that JSON never has


def _time_fields(value: str) -> Fields:
    return {"seconds": _since_epoch(value)[0], "nanos": 0}


def _micro_time_value(message: Fields) -> str | None:
    instant = _instant(message)
    if instant is None or (message["seconds"] == YEAR_1 and not instant.microsecond):
        return None
    return f"{_written(instant, message)}.{instant.microsecond:06}Z"


def _micro_time_fields(value: str) -> Fields:
    seconds, rest = _since_epoch(value)
    return {"seconds": seconds, "nanos": rest.microseconds * 1000}


def _quantity_value(message: Fields) -> str:
    text = message["string"]
    return "0" if text is None else text


def _quantity_fields(value: str) -> Fields:
    return {"string": value}


def _int_or_string_value(message: Fields) -> int | str:
    kind = message["type"]
    if kind == 0:
        return int(message["intVal"])
    if kind == 1:
        return str(message["strVal"])
    raise ProtobufError("impossible IntOrString.Type")


def _int_or_string_fields(value: int | str) -> Fields:
    if isinstance(value, str):
        return {"type": 1, "strVal": value}
    return {"type": 0, "intVal": value}


def _json_value(message: Fields) -> msgspec.Raw | None:
    raw: bytes = message.get("raw", b"")
    if not raw:
        return None
    try:
        msgspec.json.decode(raw)  # what is embedded must end where it should
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtobufError(f"embedded JSON: {error}") from error
    return msgspec.Raw(raw)


def _json_fields(value: Any) -> Fields:
    return {"raw": _json_encoder.encode(value)}


def _strings_value(message: Fields) -> list[str]:
    return message["items"] or []


def _strings_fields(value: list[str]) -> Fields:
    return {"items": value}


def _schema_or_list_value(message: Fields) -> Any:
    return message.get("list") or message["schema"]


def _schema_or_list_fields(value: Any) -> Fields:
    return {"list": value} if isinstance(value, list) else {"schema": value}


def _schema_or_bool_value(message: Fields) -> Any:
    schema = message.get("schema")
    return message["allows"] if schema is None else schema


def _schema_or_bool_fields(value: Any) -> Fields:
    return {"allows": value} if isinstance(value, bool) else {"allows": True, "schema": value}


_SCHEMA_OR_LIST: Final = SpecialForm(_schema_or_list_value, _schema_or_list_fields)
SPECIAL_FORMS: Final[Mapping[str, SpecialForm]] = {
    "quantity": SpecialForm(_quantity_value, _quantity_fields, "0"),
    "intOrString": SpecialForm(_int_or_string_value, _int_or_string_fields, 0),
    "time": SpecialForm(_time_value, _time_fields),
    "microTime": SpecialForm(_micro_time_value, _micro_time_fields),
    "json": SpecialForm(_json_value, _json_fields),
    "strings": SpecialForm(_strings_value, _strings_fields, ()),
    "schemaOrArray": _SCHEMA_OR_LIST,
    "schemaOrBool": SpecialForm(_schema_or_bool_value, _schema_or_bool_fields, zero=False),
    "schemaOrStringArray": _SCHEMA_OR_LIST,
}
