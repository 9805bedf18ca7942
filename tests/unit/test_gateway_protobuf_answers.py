"""Answers and events for clients that accept protobuf alone."""

import asyncio
import json
import struct

import pytest
from lnamespace.gateway.requests.answer_encoders import ProtobufEncoder
from lnamespace.runtime.steps import in_steps
from lnamespace.translate.protocol import protobuf
from lnamespace.translate.protocol.protobuf.encoding import ITEMS_OF_STEP
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import Refused, not_found

STEPS = 5


def config_maps(count: int) -> bytes:
    items = [{"metadata": {"name": f"c{number}"}} for number in range(count)]
    body = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": items}
    return json.dumps(body).encode()


async def test_other_tasks_run_while_a_long_list_is_encoded() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    body = config_maps(STEPS * ITEMS_OF_STEP)
    encoded = await in_steps(ProtobufEncoder().steps(body))
    running.cancel()
    assert turns >= STEPS
    assert json.loads(protobuf.to_json(encoded)) == json.loads(body)


async def test_an_empty_answer_stays_empty() -> None:
    assert await in_steps(ProtobufEncoder().steps(b"")) == b""


async def test_a_status_is_encoded_like_any_other_object() -> None:
    status = not_found(GroupResource("", "pods"), "web").status.encode()
    encoded = await in_steps(ProtobufEncoder().steps(status))
    assert json.loads(protobuf.to_json(encoded)) == json.loads(status)


async def test_an_object_without_a_protobuf_encoding_is_answered_with_406() -> None:
    with pytest.raises(Refused) as refused:
        await in_steps(ProtobufEncoder().steps(b'{"kind":"Widget","apiVersion":"example.com/v1"}'))
    assert refused.value.status.code == 406


def test_a_watch_event_is_prefixed_with_its_length() -> None:
    event = b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}}'
    frame = ProtobufEncoder().encode_event(event)
    assert struct.unpack(">I", frame[:4]) == (len(frame) - 4,)
