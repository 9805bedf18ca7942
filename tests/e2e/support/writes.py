"""How many writes the API server has seen, by its own count."""

import re
from collections import Counter
from contextlib import suppress

from tests.e2e.support.api import GROUP, LNAMESPACES, NAMESPACES, Api, Object
from tests.e2e.support.waiting import PATIENCE, eventually, settled

KINDS = frozenset(
    {
        "lnamespaces",
        "namespaces",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "billingrecords",
    }
)
"""What the controller may write; leases, tokens, events and the like are not counted."""

_VERBS = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_LINE = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')

Writes = Counter[tuple[str, str]]


def writes(admin: Api, *, refused: bool = True, kinds: frozenset[str] = KINDS) -> Writes:
    """Return all writes so far: verb and resource (with its subresource); refused ones or not."""
    found: Writes = Counter()
    for labels, value in _LINE.findall(admin.text("/metrics")):
        named = dict(_LABEL.findall(labels))
        counts = named["verb"] in _VERBS and named["resource"] in kinds and not named["dry_run"]
        if counts and (refused or named["code"].startswith("2")):
            what = "/".join(filter(None, (named["resource"], named["subresource"])))
            if what == "resourcequotas/status":  # Kubernetes' own: whenever anything is made
                continue
            found[named["verb"], what] += int(float(value))
    return found


def quiet_writes(
    admin: Api, *, kinds: frozenset[str] = KINDS, span: float = 1.0, deadline: float = PATIENCE
) -> Writes:
    """Return all writes of these kinds, once there was none for ``span`` seconds.

    The Namespaces of earlier tests must be gone too: their deletion has pauses of seconds.
    """
    with suppress(AssertionError):  # One that waits for a finalizer is not written.
        eventually(lambda: not _going(admin), 60, "Namespaces that go")
    # Its metrics are megabytes, which it takes a fifth of a second to write and us to read.
    return settled(lambda: writes(admin, kinds=kinds), span, deadline, tick=span / 2)


def _going(admin: Api) -> list[str]:
    """Return the objects that are being deleted, or that the garbage collector is to delete."""
    items = [item["metadata"] for item in admin.items(NAMESPACES)]
    lnamespaces = [item["metadata"] for item in admin.items(LNAMESPACES)]
    staying = {each["uid"] for each in lnamespaces if "deletionTimestamp" not in each}
    return [
        metadata["name"]
        for metadata in items
        if "deletionTimestamp" in metadata or not _owners(metadata) <= staying
    ]


def _owners(metadata: Object) -> set[str]:
    owners = metadata.get("ownerReferences", ())
    kind = (GROUP, "LNamespace")
    return {
        each["uid"]
        for each in owners
        if (each["apiVersion"].partition("/")[0], each["kind"]) == kind
    }
