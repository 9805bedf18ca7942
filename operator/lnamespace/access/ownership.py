"""Whose a Namespace is: ours, nobody's yet, on its way out, or somebody else's.

A namespace that existed before is never seized (a peer's CVE-2024-39690). What proves that one
is ours are UIDs, which cannot be chosen: those that we put on the Namespace when we made it, or,
where it says nothing, the one in our own status, which tenants cannot write. A status is not
believed against the Namespace's own word: it was written by a name once, and by that name another
LNamespace's may be found. A cluster admin who wants an LNamespace to adopt a namespace puts the
LNamespace's UID there themselves.
"""

from enum import Enum

from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import ObservedObject
from lnamespace.model.lnamespace import LNamespace


class Ownership(Enum):
    """What a Namespace of the LNamespace's name is to it."""

    ABSENT = "there is none"
    OURS = "it is its own"
    TERMINATING = "it is its own, but being deleted"
    PREDECESSOR = "it is an earlier LNamespace's and about to go"
    FOREIGN = "it is somebody else's"


def is_adopted(lns: LNamespace, found: ObservedObject | None, conventions: Conventions) -> bool:
    """Return whether an administrator gave the LNamespace a Namespace that we did not make.

    Once we have put our labels on it, its annotation says so. Where they are missing from a
    Namespace that the status knows, somebody took them off, and it stays what it was.
    """
    if found is None:
        return False
    new = not found.managed and found.uid != lns.status.namespace_uid
    return new or conventions.names.adopted_annotation in found.annotations


def determine_ownership(
    lns: LNamespace, found: ObservedObject | None, conventions: Conventions
) -> Ownership:
    """What the Namespace of that name is to the LNamespace."""
    if found is None:
        return Ownership.ABSENT
    annotated = found.annotations.get(conventions.names.owner_annotation)
    recorded = not annotated and found.uid == lns.status.namespace_uid
    if recorded or lns.uid in (*found.owners, annotated):
        return Ownership.TERMINATING if found.terminating else Ownership.OURS
    if found.terminating or (found.managed and found.owners):
        return Ownership.PREDECESSOR
    return Ownership.FOREIGN
