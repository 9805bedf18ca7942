"""Kubernetes' protobuf, both ways: bodies of requests to JSON, answers and watches from JSON.

Requests go to the API server as JSON and its answers come as JSON, so that one translation serves
every encoding. Clients that accept JSON too are answered JSON; this package serves those that
accept protobuf alone, and those that send it.

- :mod:`~lnamespace.translate.protocol.protobuf.envelope`: objects with their kind, events of
  watches.
- :mod:`~lnamespace.translate.protocol.protobuf.decoding` and
  :mod:`~lnamespace.translate.protocol.protobuf.encoding`: messages to JSON and back.
- :mod:`~lnamespace.translate.protocol.protobuf.strictness`: fields that a kind does not
  have.
- :mod:`~lnamespace.translate.protocol.protobuf.special`: messages with a form of their own in JSON.
- :mod:`~lnamespace.translate.protocol.protobuf.schema`: the table of messages, of Kubernetes 1.36.
- :mod:`~lnamespace.translate.protocol.protobuf.wire`: integers and tags.
"""

from lnamespace.translate.protocol.protobuf.envelope import from_json_in_steps, to_json, watch_frame

__all__ = ["from_json_in_steps", "to_json", "watch_frame"]
