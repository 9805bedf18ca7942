"""What the objects of an LNamespace are called.

A name is the identity of an object, for nobody can edit it; labels only select. Where the API
group's suffix is not the default, every name carries it, so that two instances on one cluster
never meet.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property

from lnamespace.model.subject import Subject

DEFAULT_SUFFIX = "loblaw.digital"
USERS_BINDING = "lnamespace-users"
SUDOERS_BINDING = "lnamespace-sudoers"

DIGEST_LENGTH = 52

_EDITOR = "editor"
_SUDOER = "sudoer-impersonator"
_SELF = "self-impersonator"


@dataclass(frozen=True)
class Names:
    """The names that one instance uses; ``suffix`` is its API group suffix."""

    suffix: str = DEFAULT_SUFFIX
    sudoers_group_format: str = "{name}-sudoers"

    @cached_property
    def group(self) -> str:
        """The API group."""
        return f"tenancy.{self.suffix}"

    @cached_property
    def prefix(self) -> str:
        """The first part of every cluster-wide name, and the value of the managed-by label."""
        return "lnamespace" if self.suffix == DEFAULT_SUFFIX else f"lnamespace.{self.suffix}"

    @cached_property
    def owner_annotation(self) -> str:
        """Says on a Namespace which LNamespace (by UID) it belongs to; an admin's way to adopt."""
        return f"{self.group}/owner-uid"

    @cached_property
    def tenant_label(self) -> str:
        """Says for which LNamespace an object is, for people who search."""
        return f"{self.group}/lnamespace"

    @cached_property
    def person_annotation(self) -> str:
        """Says in words for whom a self-impersonator is, for its name cannot."""
        return f"{self.group}/person"

    def sudoers_group(self, tenant: str) -> str:
        """The group that sudoers of ``tenant`` impersonate."""
        return self.sudoers_group_format.replace("{name}", tenant)

    def editor(self, tenant: str) -> str:
        """ClusterRole and binding: edit this one LNamespace."""
        return f"{self.prefix}:{tenant}:{_EDITOR}"

    def sudoer(self, tenant: str) -> str:
        """ClusterRole and binding: impersonate this LNamespace's sudoers group."""
        return f"{self.prefix}:{tenant}:{_SUDOER}"

    def self_impersonator(self, person: str) -> str:
        """Role and binding: impersonate oneself; ``person`` is a :func:`digest`."""
        return f"{self.prefix}:{_SELF}:{person}"

    def tenant_of(self, name: str) -> str | None:
        """Whose cluster-wide object is called ``name``; None where it is not a tenant's."""
        match name.split(":"):
            case [self.prefix, tenant, part] if part in (_EDITOR, _SUDOER):
                return tenant
        return None

    def person_of(self, name: str) -> str | None:
        """The digest of the person whose self-impersonator is called ``name``, or None."""
        match name.split(":"):
            case [self.prefix, kind, person] if kind == _SELF and len(person) == DIGEST_LENGTH:
                return person
        return None


def digest(subject: Subject) -> str:
    """A name for a person that any object can carry: 52 characters of base32.

    The whole of SHA-256 over kind, namespace and name, each with its length before it: two
    people cannot share it, not even on purpose.
    """
    parts = (subject.kind.value, subject.namespace, subject.name)
    data = b"".join(len(p.encode()).to_bytes(4) + p.encode() for p in parts)
    return base64.b32encode(hashlib.sha256(data).digest()).decode().rstrip("=").lower()
