"""How a client is answered: by JSON as the API server wrote it, by protobuf, or by YAML."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from lnamespace.translate.media_types import JSON, PROTOBUF, YAML
from lnamespace.translate.protobuf.envelope import from_json_in_steps, watch_frame
from lnamespace.translate.status import not_acceptable
from lnamespace.translate.yaml_answers import yaml_lines

_LINES_AT_ONCE = 500
"""Lines of YAML that are written before others may run."""


class AnswerEncoding(Protocol):
    """How a client wants to be answered: by JSON, or by protobuf."""

    content_type: str
    stream_content_type: str

    async def encode(self, answer: bytes) -> bytes:
        """Return an answer, given as JSON."""

    def encode_event(self, event: bytes) -> bytes:
        """Return an event of a watch, given as JSON, with what ends it."""


class ProtobufEncoding:
    """Answer by Kubernetes' protobuf."""

    content_type = PROTOBUF
    stream_content_type = f"{PROTOBUF};stream=watch"

    async def encode(self, answer: bytes) -> bytes:
        """Return an answer in its envelope; let others run meanwhile if it is a long list."""
        steps = from_json_in_steps(answer)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return bytes(end.value)
            await asyncio.sleep(0)

    def encode_event(self, event: bytes) -> bytes:
        """Return an event with its length before it."""
        return watch_frame(event)


class JsonEncoding:
    """Answer by JSON, as the API server did."""

    content_type = JSON
    stream_content_type = JSON

    async def encode(self, answer: bytes) -> bytes:
        """Return an answer as it is."""
        return answer

    def encode_event(self, event: bytes) -> bytes:
        """Return an event as a line."""
        return event + b"\n"


class YamlEncoding(JsonEncoding):
    """Answer by YAML; watches have none."""

    content_type = YAML

    async def encode(self, answer: bytes) -> bytes:
        """Return an answer; let others run meanwhile if it is a long list."""
        written: list[str] = []
        try:
            for line in yaml_lines(answer):
                written.append(line)
                if not len(written) % _LINES_AT_ONCE:
                    await asyncio.sleep(0)
        except RecursionError as error:
            raise not_acceptable("the object is nested too deeply for YAML") from error
        return "".join(written).encode()


_ENCODINGS: Mapping[str, type[AnswerEncoding]] = {
    PROTOBUF: ProtobufEncoding,
    YAML: YamlEncoding,
}


def answer_encoding(media_type: str) -> AnswerEncoding:
    """Return how a client is answered in a media type."""
    return _ENCODINGS.get(media_type, JsonEncoding)()
