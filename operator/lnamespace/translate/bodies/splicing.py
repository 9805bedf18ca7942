"""Translate objects in which only the namespace changes, by cutting the prefix from their bytes.

Most namespaced objects are like that. To decode one by its translator, and to encode it again,
takes four times as long as to search its bytes for values that the rules of the translator would
change.

This relies on a guarantee of the rules
(:attr:`.FieldRule.changes_only_with_tenant_name`, :func:`marks_of_metadata`): they do
not change a value without certain words in it. An object is spliced if the tenant's name stands in
it once, in the ``metadata.namespace`` at its head, and none of these words at all. The head of an
object cannot be found within a text, where a quotation mark is written with a backslash.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec import Raw

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.labels import OWN_KEYS_BYTES

_TEXT = rb'"[^"\\]*"'
_OBJECT = (
    rb'\{(?:"kind":(?!"Status"|"Table")' + _TEXT + rb',"apiVersion":' + _TEXT + rb",)?"
    rb'"metadata":\{"name":' + _TEXT + rb',(?:"generateName":' + _TEXT + rb',)?"namespace":"'
)
"""How the API server begins an object of its own kinds."""
_NAMESPACE = b'"namespace":"'
_EVENT = rb'\{"type":"(?:ADDED|MODIFIED|DELETED)","object":'


@lru_cache(maxsize=4096)
def _head(prefix: str) -> re.Pattern[bytes]:
    return re.compile(_OBJECT + re.escape(prefix).encode())


@lru_cache(maxsize=4096)
def _event_head(prefix: str) -> re.Pattern[bytes]:
    return re.compile(_EVENT + _OBJECT + re.escape(prefix).encode())


@lru_cache(maxsize=4096)
def _name(tenant: str) -> re.Pattern[bytes]:
    """Return the name as a pattern: in a list of 1,000 bytes.count takes half as long again."""
    return re.compile(re.escape(tenant).encode())


def marks_of_metadata(view: TenantView) -> tuple[bytes, ...]:
    """Return the words, besides the tenant's name, without which metadata is not changed.

    The domain is in the tenant label, and in the API versions of owners that are the platform's.
    """
    domain = view.tenant_label.partition("/")[0].encode()
    return (domain,) if domain in OWN_KEYS_BYTES else (domain, OWN_KEYS_BYTES)


@dataclass(frozen=True)
class NamespaceSplice:
    """A translation that only cuts the prefix out of the namespaces of objects.

    Parameters
    ----------
    view
        The view of the tenant.
    marks
        Byte strings that an object must not contain.
    """

    view: TenantView
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
        if len(_name(view.tenant).findall(whole)) != len(items):
            return None
        if any(mark in whole for mark in self.marks) or not all(map(head.match, items)):
            return None
        if view.in_pod:
            return whole
        # bytes.replace searches twice.
        return _NAMESPACE.join(whole.split(_NAMESPACE + view.prefix.encode()))
