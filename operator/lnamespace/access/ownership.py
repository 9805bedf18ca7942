"""Decide who owns the Namespace of an LNamespace's name.

An existing namespace is never taken over (CVE-2024-39690 of a similar project). UIDs prove
ownership, because nobody can choose them: the one in the owner annotation or owner reference of
the Namespace or, if it has no annotation, the one in the LNamespace's status, which tenants
cannot write. The status does not count against the annotation: it was written about a name, which
another LNamespace's Namespace may have by now. To adopt a namespace, a cluster administrator
writes the LNamespace's UID into its annotation.
"""

from enum import Enum

from lnamespace.access.conventions import Conventions
from lnamespace.kube.state import ObservedObject
from lnamespace.model.lnamespace import LNamespace


class Ownership(Enum):
    """The relation of a Namespace to the LNamespace of its name."""

    ABSENT = "there is none"
    OURS = "it is its own"
    TERMINATING = "it is its own, but being deleted"
    PREDECESSOR = "it is an earlier LNamespace's and about to go"
    FOREIGN = "it is somebody else's"


def is_adopted(lns: LNamespace, found: ObservedObject | None, conventions: Conventions) -> bool:
    """Return whether the controller did not create the LNamespace's Namespace.

    The controller annotates such a Namespace when it first labels it. A Namespace that the status
    knows and that has lost its labels was not adopted: somebody removed them.
    """
    if found is None:
        return False
    new = not found.managed and found.uid != lns.status.namespace_uid
    return new or conventions.names.adopted_annotation in found.annotations


def determine_ownership(
    lns: LNamespace, found: ObservedObject | None, conventions: Conventions
) -> Ownership:
    """Return how the Namespace of the LNamespace's name relates to it."""
    if found is None:
        return Ownership.ABSENT
    annotated = found.annotations.get(conventions.names.owner_annotation)
    recorded = not annotated and found.uid == lns.status.namespace_uid
    if recorded or lns.uid in (*found.owners, annotated):
        return Ownership.TERMINATING if found.terminating else Ownership.OURS
    if found.terminating or (found.managed and found.owners):
        return Ownership.PREDECESSOR
    return Ownership.FOREIGN
