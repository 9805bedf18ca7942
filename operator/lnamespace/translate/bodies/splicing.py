"""Objects of which nothing but their namespace is translated: their bytes, with the prefix cut out.

Most objects in a namespace are such. To decode one along its plan, and to encode it again, takes
four times as long as to look for what the rules of the plan would change.

It is safe by what rules promise (:attr:`~lnamespace.translate.objects.plans.FieldRule.guarded`,
:func:`marks_of_metadata`): a value without certain words in it stays as it is. The tenant's name
stands in such an object once, in the ``metadata.namespace`` at its head, and no other of these
words at all. The head of an object is never found within a text, where a quotation mark is written
with a backslash.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec import Raw

from lnamespace.translate.names.view import View
from lnamespace.translate.objects.labels import OWN_MARK

_TEXT = rb'"[^"\\]*"'
_OBJECT = (
    rb'\{(?:"kind":(?!"Status"|"Table")' + _TEXT + rb',"apiVersion":' + _TEXT + rb",)?"
    rb'"metadata":\{"name":' + _TEXT + rb',(?:"generateName":' + _TEXT + rb',)?"namespace":"'
)
"""How the API server begins an object of its own kinds."""
_EVENT = rb'\{"type":"(?:ADDED|MODIFIED|DELETED)","object":'


@lru_cache(maxsize=4096)
def _head(prefix: str) -> re.Pattern[bytes]:
    return re.compile(_OBJECT + re.escape(prefix).encode())


@lru_cache(maxsize=4096)
def _event_head(prefix: str) -> re.Pattern[bytes]:
    return re.compile(_EVENT + _OBJECT + re.escape(prefix).encode())


def marks_of_metadata(view: View) -> tuple[bytes, ...]:
    """Return the words, besides the tenant's name, without which metadata of objects stays.

    The domain is in the tenant label, and in the API versions of owners that are the platform's.
    """
    domain = view.tenant_label.partition("/")[0].encode()
    return (domain,) if domain in OWN_MARK else (domain, OWN_MARK)


@dataclass(frozen=True)
class NamespaceSplice:
    """Cut the prefix out of the namespaces of objects.

    Parameters
    ----------
    view
        Of the tenant whose objects they are.
    marks
        What no object may have in it besides its namespace.
    """

    view: View
    marks: tuple[bytes, ...]

    def object(self, item: bytes | Raw) -> bytes | None:
        """Return an object in tenant spelling; None if more of it may have to be translated."""
        return self._spliced(_head(self.view.prefix), (item,), bytes(item))

    def event(self, frame: bytes) -> bytes | None:
        """Return an event of a watch in tenant spelling, or None as for an object."""
        return self._spliced(_event_head(self.view.prefix), (frame,), frame)

    def objects(self, items: Sequence[Raw]) -> bytes | None:
        """Return objects in tenant spelling, joined by commas; None if one may need more."""
        return self._spliced(_head(self.view.prefix), items, b",".join(items))

    def _spliced(
        self, head: re.Pattern[bytes], items: Sequence[bytes | Raw], whole: bytes
    ) -> bytes | None:
        view = self.view
        # Each head has the name once, so as many as heads are in the heads.
        if whole.count(view.tenant.encode()) != len(items):
            return None
        if any(mark in whole for mark in self.marks) or not all(map(head.match, items)):
            return None
        if view.in_pod:
            return whole
        return whole.replace(b'"namespace":"' + view.prefix.encode(), b'"namespace":"')
