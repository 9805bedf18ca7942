"""JSON documents one after another, arriving in pieces of any size: what a watch sends."""

from __future__ import annotations

import codecs
import json

from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class JsonStream:
    """Collects bytes and gives back each document once it is whole."""

    def __init__(self) -> None:
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._json = json.JSONDecoder()

    def feed(self, data: bytes) -> list[Any]:
        """The documents that are complete now, in order."""
        self._text += self._decoder.decode(data)
        documents: list[Any] = []
        while text := self._text.lstrip():
            try:
                document, end = self._json.raw_decode(text)
            except json.JSONDecodeError:
                break  # the rest of it is still on its way
            documents.append(document)
            self._text = text[end:]
        return documents
