"""Encoders of answers: JSON as the API server wrote it, indented JSON, protobuf, or YAML."""

from collections.abc import Generator, Mapping
from typing import Protocol

import msgspec

from lnamespace.kube.media_types import JSON, PROTOBUF, YAML
from lnamespace.translate.bodies.long_lists import LONG_ANSWER
from lnamespace.translate.protocol.protobuf.envelope import from_json_in_steps, watch_frame
from lnamespace.translate.protocol.yaml_answers import yaml_lines

_LINES_AT_ONCE = 500
"""Lines of YAML that are written before others may run."""


class AnswerEncoder(Protocol):
    """An encoder of answers and of watch events for a client."""

    content_type: str
    stream_content_type: str

    def steps(self, answer: bytes) -> Generator[None, None, bytes]:
        """Return an answer, given as JSON; pause where others may run if it is a long list."""

    def encode_event(self, event: bytes) -> bytes:
        """Return an event of a watch, given as JSON, encoded and delimited."""


class ProtobufEncoder:
    """An encoder to Kubernetes' protobuf."""

    content_type = PROTOBUF
    stream_content_type = f"{PROTOBUF};stream=watch"

    def steps(self, answer: bytes) -> Generator[None, None, bytes]:
        """Return an answer in its envelope; pause after every few objects of a list."""
        return from_json_in_steps(answer)

    def encode_event(self, event: bytes) -> bytes:
        """Return an event with its length before it."""
        return watch_frame(event)


class JsonEncoder:
    """An encoder to JSON, as the API server writes it."""

    content_type = JSON
    stream_content_type = JSON

    def steps(self, answer: bytes) -> Generator[None, None, bytes]:
        """Return an answer unchanged."""
        yield from ()
        return answer

    def encode_event(self, event: bytes) -> bytes:
        """Return an event as a line."""
        return event + b"\n"


class IndentedJsonEncoder(JsonEncoder):
    """An encoder to indented JSON; a watch has one event on each line all the same."""

    def steps(self, answer: bytes) -> Generator[None, None, bytes]:
        """Return an answer with a line for each of its values; a long one unchanged.

        Indented in one step, 40 MB held the thread for half a second.
        """
        yield from ()
        return indented_json(answer) if 0 < len(answer) <= LONG_ANSWER else answer


def indented_json(answer: bytes) -> bytes:
    """Return an answer for people; unchanged if it is nested too deeply."""
    try:
        return msgspec.json.format(answer.rstrip(b"\n"), indent=2) + b"\n"
    except RecursionError:
        return answer


class YamlEncoder(JsonEncoder):
    """An encoder to YAML; watches have none."""

    content_type = YAML

    def steps(self, answer: bytes) -> Generator[None, None, bytes]:
        """Return an answer; pause after every few lines.

        One that is nested too deeply stays JSON, which is YAML too: a refusal would say of an
        object that was written that it was not.
        """
        written: list[str] = []
        try:
            for line in yaml_lines(answer):
                written.append(line)
                if not len(written) % _LINES_AT_ONCE:
                    yield
        except RecursionError:
            return answer
        return "".join(written).encode()


_ENCODERS: Mapping[str, type[AnswerEncoder]] = {PROTOBUF: ProtobufEncoder, YAML: YamlEncoder}


def answer_encoder(media_type: str, *, indented: bool = False) -> AnswerEncoder:
    """Return the encoder for a media type; ``indented`` means JSON for people."""
    plain = IndentedJsonEncoder if indented else JsonEncoder
    return _ENCODERS.get(media_type, plain)()
