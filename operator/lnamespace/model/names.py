"""What the objects of an LNamespace are called.

A name is the identity of an object, for nobody can edit it; labels only select. Where the API
group's suffix is not the default, every name carries it, so that two instances on one cluster
never meet.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX, Subject, SubjectKind

DEFAULT_SUFFIX = "loblaw.digital"
USERS_BINDING = "lnamespace-users"
SUDOERS_BINDING = "lnamespace-sudoers"
ACCOUNT_BINDING = "lnamespace-sudo-account"
PROFILE_OBJECT_NAME = "lnamespace"
"""Of the ResourceQuota, the LimitRange and the NetworkPolicy that a profile gives."""

DIGEST_LENGTH = 52

_SUDO_NAMESPACE = "lnamespace-sudo"
_SUFFIX_HASH_LENGTH = 10

_EDITOR = "editor"
_SUDOER = "sudoer-impersonator"
_SELF = "self-impersonator"

PARTS = (_EDITOR, _SUDOER)
"""What the names of an LNamespace's cluster-wide objects end in.

The chart calls the ClusterRole of a profile PREFIX:profile:NAME. LNamespace "profile" took that of
profile "editor" for its own, so no profile has one of these names.
"""


@dataclass(frozen=True)
class Names:
    """The names that one instance uses; ``suffix`` is its API group suffix.

    ``class_name`` is the class of LNamespaces that one of several controllers is for.
    """

    suffix: str = DEFAULT_SUFFIX
    sudoers_group_format: str = ""
    class_name: str = ""

    @cached_property
    def group(self) -> str:
        """The API group."""
        return f"tenancy.{self.suffix}"

    @cached_property
    def prefix(self) -> str:
        """The first part of every cluster-wide name, and the value of the managed-by label."""
        return "lnamespace" if self.suffix == DEFAULT_SUFFIX else f"lnamespace.{self.suffix}"

    @cached_property
    def group_format(self) -> str:
        """How sudoers groups are called; where nothing else is said, no two instances share one.

        Who may become group X-sudoers by one instance must not be a sudoer of another's X.
        """
        instance = "" if self.suffix == DEFAULT_SUFFIX else f".{self.suffix}"
        return self.sudoers_group_format or f"{{name}}-sudoers{instance}"

    @cached_property
    def owner_annotation(self) -> str:
        """Says on a Namespace which LNamespace (by UID) it belongs to; an admin's way to adopt."""
        return f"{self.group}/owner-uid"

    @cached_property
    def adopted_annotation(self) -> str:
        """Says on a Namespace that it was there before its LNamespace: `default` is not for it."""
        return f"{self.group}/adopted"

    @cached_property
    def requester_annotation(self) -> str:
        """Says on a Namespace who asked for it: whose limit it counts to, whatever comes of it."""
        return f"{self.group}/requester"

    @cached_property
    def tenant_label(self) -> str:
        """Says for which LNamespace an object is, for people who search."""
        return f"{self.group}/lnamespace"

    @cached_property
    def class_label(self) -> str:
        """Says for which class of LNamespaces an object is; that of no class has none."""
        return f"{self.group}/class"

    @cached_property
    def person_annotation(self) -> str:
        """Says in words for whom a self-impersonator is, for its name cannot."""
        return f"{self.group}/person"

    @cached_property
    def labels_annotation(self) -> str:
        """Says on a Namespace which of its labels are there because of us, besides our own."""
        return f"{self.group}/labels"

    def sudoers_group(self, tenant: str) -> str:
        """The group that sudoers of ``tenant`` impersonate."""
        return self.group_format.replace("{name}", tenant)

    @cached_property
    def sudo_namespace(self) -> str:
        """Where the accounts are that sudoers impersonate, in the layout that has such.

        No tenant's, for its name is reserved. Of another instance it has a hash of the suffix, for
        a namespace's name can have neither its dots nor all of its length.
        """
        if self.suffix == DEFAULT_SUFFIX:
            return _SUDO_NAMESPACE
        hashed = hashlib.sha256(self.suffix.encode()).hexdigest()
        return f"{_SUDO_NAMESPACE}-{hashed[:_SUFFIX_HASH_LENGTH]}"

    def sudo_account(self, tenant: str) -> Subject:
        """The account that sudoers of ``tenant`` impersonate, in the layout that has such."""
        return Subject(SubjectKind.SERVICE_ACCOUNT, tenant, self.sudo_namespace)

    def is_sudo_account(self, username: str) -> bool:
        """Whether it is some LNamespace's account for sudo, of whichever instance.

        Theirs are the only namespaces that begin so: no tenant can have such a name.
        """
        ours = f"{SERVICE_ACCOUNT_PREFIX}{_SUDO_NAMESPACE}"
        return username.startswith((f"{ours}:", f"{ours}-"))

    def editor(self, tenant: str) -> str:
        """ClusterRole and binding: edit this one LNamespace."""
        return f"{self.prefix}:{tenant}:{_EDITOR}"

    def sudoer(self, tenant: str) -> str:
        """Role and binding: become this LNamespace's sudoers group, or its account."""
        return f"{self.prefix}:{tenant}:{_SUDOER}"

    def self_impersonator(self, person: str) -> str:
        """Role and binding: impersonate oneself; ``person`` is a :func:`digest`.

        It carries the class, so that each has one writer: the controller of that class.
        """
        return f"{self.prefix}:{self._self}:{person}"

    def tenant_of(self, name: str) -> str | None:
        """Whose cluster-wide object is called ``name``; None where it is not a tenant's."""
        match name.split(":"):
            case [self.prefix, tenant, part] if part in PARTS:
                return tenant
        return None

    def person_of(self, name: str) -> str | None:
        """The digest of the person whose self-impersonator is called ``name``, or None."""
        match name.split(":"):
            case [self.prefix, self._self, person] if len(person) == DIGEST_LENGTH:
                return person
        return None

    @cached_property
    def _self(self) -> str:
        # With a dot, no tenant's name can look like it.
        return f"{_SELF}.{self.class_name}" if self.class_name else _SELF


def subject_digest(subject: Subject) -> str:
    """A name for a person that any object can carry: 52 characters of base32.

    The whole of SHA-256 over kind, namespace and name, each with its length before it: two
    people cannot share it, not even on purpose.
    """
    parts = (subject.kind.value, subject.namespace, subject.name)
    data = b"".join(len(p.encode()).to_bytes(4) + p.encode() for p in parts)
    return base64.b32encode(hashlib.sha256(data).digest()).decode().rstrip("=").lower()
