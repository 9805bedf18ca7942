"""The encoding of an answer with objects, by the header Accept.

The API server is always asked for JSON. A client is answered in protobuf only if it does not accept
JSON, in which the objects are translated; metadata alone also if it prefers protobuf. YAML is for
people: a client that prefers it is answered in it, except for watches.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from lnamespace.kube.media_types import JSON, PROTOBUF, YAML
from lnamespace.translate.protocol.negotiation import AcceptClause, accept_clauses
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import not_acceptable
from lnamespace.translate.protocol.verbs import READ_VERBS

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The errors of decoding a body that is no JSON, no UTF-8, or nested too deeply."""

_WITHOUT_TABLES = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""API groups of reviews, whose objects are not stored and have no table."""
_LONGEST = 1024
"""Characters of a header Accept whose encoding is remembered; it is the client's to choose."""
_METADATA = "PartialObjectMetadata"
_REFUSAL = f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}"


@dataclass(frozen=True)
class NegotiatedEncoding:
    """The encoding of an answer, and the header Accept of the request upstream.

    Parameters
    ----------
    media_type
        JSON, protobuf or YAML.
    accept
        The header Accept of the request upstream.
    """

    media_type: str = JSON
    accept: str = JSON


def encoding_of(request: ResourceRequest, accept: str) -> NegotiatedEncoding:
    """Return how to answer a request.

    Parameters
    ----------
    accept
        All of the client's headers Accept, joined by commas; empty means anything.

    Raises
    ------
    Refused
        NotAcceptable: the client accepts no encoding that is served.
    """
    resource = request.resource
    tables = resource.group not in _WITHOUT_TABLES
    find = _encoding if len(accept) <= _LONGEST else _encoding.__wrapped__
    return find(accept, request.verb, tables=tables, custom=resource.custom)


@lru_cache(maxsize=1024)
def _encoding(accept: str, verb: str, *, tables: bool, custom: bool) -> NegotiatedEncoding:
    clauses = [
        each
        for each in accept_clauses(accept)
        if each.quality > 0
        and _is_plain(each)
        and not (_is_table(each) and (not tables or (verb == "watch" and not each.covers(JSON))))
    ]
    served = _served(verb, clauses, custom=custom)
    media_type = next((each for each in served if any(c.covers(each) for c in clauses)), "")
    if not media_type:
        raise not_acceptable(_REFUSAL)
    chosen = [each for each in clauses if each.covers(media_type)]
    wanted = [each for each in chosen if verb in READ_VERBS or not each.transforms]
    asked = ", ".join(dict.fromkeys(_asked(each) for each in wanted)) or JSON
    return NegotiatedEncoding(media_type, asked)


def _served(verb: str, clauses: list[AcceptClause], *, custom: bool) -> Iterator[str]:
    """Yield the encodings of an answer, the preferred one first."""
    if verb in READ_VERBS and clauses and _is_metadata(clauses[0]):
        yield PROTOBUF
    if verb != "watch" and clauses and clauses[0].sub != "*" and clauses[0].covers(YAML):
        yield YAML
    yield JSON
    if not custom:
        # Custom resources are not in the table of Kubernetes' own types.
        yield PROTOBUF
    if verb != "watch":
        yield YAML


def _is_metadata(clause: AcceptClause) -> bool:
    """Return whether metadata alone is asked for in protobuf.

    In JSON each object of such a list says its kind, and in protobuf it does not: informers of
    client-go's metadata client held objects that were not those of their own lists.
    """
    form, version = (clause.transforms.get(each, "") for each in ("as", "v"))
    in_protobuf = clause.covers(PROTOBUF) and clause.sub != "*"
    return in_protobuf and form.startswith(_METADATA) and version == "v1"


def _asked(clause: AcceptClause) -> str:
    transforms = clause.transforms
    if "as" not in transforms:
        return JSON
    return JSON + "".join(f";{name}={transforms[name]}" for name in sorted(transforms))


def _is_table(clause: AcceptClause) -> bool:
    return clause.transforms.get("as") == "Table"


def _is_plain(clause: AcceptClause) -> bool:
    """Return whether the parameters can be copied into another header."""
    values = clause.transforms.values()
    return all(value.replace(".", "").replace("-", "").isalnum() for value in values)
