"""The metadata of an object, also of one that breaks its schema."""

import msgspec

from lnamespace.kube import answers
from lnamespace.model.lnamespace import Metadata


class _WithMetadata(msgspec.Struct, frozen=True):
    metadata: Metadata


_decoder = msgspec.json.Decoder(_WithMetadata)


def decode_metadata(raw: bytes | msgspec.Raw) -> Metadata:
    """Decode the metadata of an object; the rest of it may break its schema.

    Raises
    ------
    Unreadable
        The metadata cannot be read either.
    """
    return answers.decode(_decoder, raw).metadata
