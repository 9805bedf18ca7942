"""Keep the OpenAPI document of the whole cluster readable, whatever a tenant's schemas say.

The API server reads ``/openapi/v2`` as YAML before it answers in protobuf, which many programs ask
for. YAML takes few control characters, and no key of more than 1,024 characters as JSON has it. By
one text that is not so, in a description say, nobody had the document.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    Path,
    RefusingRule,
    parents,
)

MAX_KEY = 160
"""The characters of a key, of which JSON writes each with six at most."""
_unreadable = re.compile("[\x7f-\x9f\ufffe\uffff]").search
_SCHEMA: Path = ("spec", "versions", "*", "schema")


@dataclass(frozen=True)
class ReadableTexts(RefusingRule):
    """The texts and keys in the schemas of a definition."""

    paths = (_SCHEMA,)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse what YAML does not take."""
        for version in parents(subject.body, _SCHEMA):
            for text, most in _texts(version.get(_SCHEMA[-1])):
                if most and len(text) > most:
                    raise subject.refuse("spec.versions.schema", f"a key is longer than {most}")
                if found := _unreadable(text):
                    why = f"no text has the character U+{ord(found[0]):04X}"
                    raise subject.refuse("spec.versions.schema", why)


def _texts(value: Any) -> Iterator[tuple[str, int]]:
    """Yield the texts in a value, each with the number of characters that it may have, if any."""
    left = [value]
    while left:
        match left.pop():
            case dict() as found:
                yield from ((key, MAX_KEY) for key in found)
                left.extend(found.values())
            case list() as found:
                left.extend(found)
            case str() as found:
                yield found, 0
