"""One request of a tenant on its way through the gateway."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lnamespace.gateway.http.exchange import Exchange
from lnamespace.gateway.http.messages import Headers
from lnamespace.gateway.upstream import Acting
from lnamespace.rbac.attributes import User
from lnamespace.translate.media_types import JSON, PROTOBUF, YAML
from lnamespace.translate.numbers import parse_number
from lnamespace.translate.protobuf.envelope import from_json_in_steps, watch_frame
from lnamespace.translate.request import ResourceRequest
from lnamespace.translate.status import not_acceptable
from lnamespace.translate.targets import READ_VERBS
from lnamespace.translate.view import View
from lnamespace.translate.yaml_answers import yaml_lines

STREAMED = frozenset({"exec", "attach", "portforward", "proxy", "log"})
"""Subresources whose answers are no objects."""


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


@dataclass(frozen=True)
class TenantCall:
    """What somebody asked for, in tenant spelling, after they were allowed to.

    Parameters
    ----------
    person
        Who made the request, for the platform's audit log; not whom they act as.
    headers
        What goes upstream of the client's headers.
    base
        What the paths of this cluster begin with at the address that the client uses.
    pin
        Of the metadata of the one object that a write may meet, its resource version or its uid;
        empty: any.
    user
        Whom they act as inside the tenant's cluster.
    """

    exchange: Exchange
    request: ResourceRequest
    view: View
    person: str
    headers: Headers = ()
    encoding: AnswerEncoding = field(default_factory=JsonEncoding)
    base: str = ""
    pin: Mapping[str, str] = field(default_factory=dict)
    user: User | None = None

    @property
    def acting(self) -> Acting:
        """Return who acts upstream: for what RBAC gives to the tenant's account that, else us.

        That are its namespaces and its own API groups. No webhook is asked about a read.
        """
        request = self.request
        reads = request.verb in READ_VERBS and request.subresource not in STREAMED
        user = None if reads else self.user
        if request.resource.namespaced or request.resource.custom:
            return Acting(self.view.tenant, self.person, user)
        return Acting("", self.person, user)

    @property
    def over_namespaces(self) -> bool:
        """Return whether objects of all the tenant's namespaces are asked for."""
        return self.request.resource.namespaced and not self.request.namespace

    def parameter(self, name: str) -> str:
        """Return a parameter of the query; empty without it."""
        return next((value for key, value in self.request.query if key == name), "")

    def number(self, name: str) -> int:
        """Return a parameter of the query that is a number; 0 without it.

        Raises
        ------
        Refused
            BadRequest: it is none, in the words of the API server.
        """
        return parse_number(self.parameter(name) or "0")
