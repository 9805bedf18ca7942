"""Delete CustomResourceDefinitions: those of a collection, and those as large as etcd takes.

To delete a definition, the API server first adds to it. Where a tenant had filled one up to the
1.5 MiB that etcd takes, that failed.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import msgspec

from lnamespace.errors import ClusterError, NoRoom
from lnamespace.gateway.definitions.conversion_marks import make_room, unmark
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.totals import Answer
from lnamespace.kube.answers import error_of
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialObject
from lnamespace.translate.protocol.list_options import SELECTORS

SUCCESS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}'
_TRIES = 5
_OF_COLLECTIONS = frozenset(
    {*SELECTORS, "limit", "continue", "resourceVersion", "resourceVersionMatch"}
)
"""Parameters that the deletion of one object does not have."""

log = logging.getLogger(__name__)


async def delete_definition(
    client: Client, name: str, send: Callable[[], Awaitable[Answer]]
) -> Answer:
    """Send a deletion; where the definition has no room for it, make some and send it again."""
    response, answer = await send()
    marked = False
    try:
        for _ in range(_TRIES):  # others may write it at the same time
            if not isinstance(error_of(response.status, answer), NoRoom):
                break
            marked |= await make_room(client, name)
            response, answer = await send()
        if marked and response.status >= 300:
            await unmark(client, name)
    except ClusterError as error:
        about = {"definition": name, "error": str(error)}
        log.warning("a definition has no room for its deletion", extra=about)
    return response, answer


class _ListedDefinitions(msgspec.Struct, frozen=True):
    items: tuple[PartialObject, ...] | None = None


def deletions(call: TenantCall, page: bytes) -> Iterator[TenantCall]:
    """Yield the deletion of each definition of a collection that is deleted.

    Parameters
    ----------
    page
        The list of the collection, in upstream spelling.
    """
    query = tuple(each for each in call.request.query if each[0] not in _OF_COLLECTIONS)
    for each in msgspec.json.decode(page, type=_ListedDefinitions).items or ():
        # Without a name it would be the deletion of all.
        if name := call.view.crd_name_down(each.metadata.name):
            request = replace(call.request, verb="delete", name=name, query=query)
            yield replace(call, request=request)
