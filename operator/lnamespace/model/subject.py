"""Who can be an entry of a list of an LNamespace, and until when."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

NAME_MAX_LENGTH = 512
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"

Timestamp = Annotated[datetime, Meta(tz=True)]
"""A time with its time zone."""


class SubjectKind(StrEnum):
    """The kinds of an RBAC subject (rbac.authorization.k8s.io/v1)."""

    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"


class Subject(msgspec.Struct, frozen=True, order=True):
    """A subject of RBAC; equal subjects are one person."""

    kind: SubjectKind
    name: str
    namespace: str = ""

    @property
    def username(self) -> str:
        """Return the user name by which the API server knows a User or a ServiceAccount."""
        if self.kind is SubjectKind.SERVICE_ACCOUNT:
            return f"{SERVICE_ACCOUNT_PREFIX}{self.namespace}:{self.name}"
        return self.name


def subject_of_username(username: str) -> Subject:
    """Return the User or ServiceAccount of a user name of the API server."""
    if not username.startswith(SERVICE_ACCOUNT_PREFIX):
        return Subject(SubjectKind.USER, username)
    namespace, _, name = username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return Subject(SubjectKind.SERVICE_ACCOUNT, name, namespace)


class Member(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who has the access that the list gives, and until when."""

    name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=NAME_MAX_LENGTH,
            description="The name as the API server knows it (`kubectl auth whoami`), "
            "letter by letter. For a ServiceAccount its own name.",
        ),
    ]
    kind: Annotated[
        SubjectKind, Meta(description="User, Group or ServiceAccount; not a Group in sudoers.")
    ] = SubjectKind.USER
    namespace: Annotated[
        str, Meta(max_length=63, description="The namespace of a ServiceAccount; else empty.")
    ] = ""
    expires_at: Annotated[
        Timestamp | UnsetType,
        Meta(description="When this entry ends by itself (RFC 3339). Absent: it does not."),
    ] = UNSET

    @property
    def subject(self) -> Subject:
        """Return the subject; a ServiceAccount's user name means that ServiceAccount."""
        if self.kind is SubjectKind.USER and self.name.startswith(SERVICE_ACCOUNT_PREFIX):
            return subject_of_username(self.name)
        return Subject(self.kind, self.name, self.namespace)

    def active(self, now: datetime) -> bool:
        """Return whether the entry is in force at ``now`` (aware); it is not at its expiry."""
        return isinstance(self.expires_at, UnsetType) or self.expires_at > now


def next_expiry(members: Iterable[Member], now: datetime) -> datetime | None:
    """Return when the next entry expires; None if none will."""
    expiries = (m.expires_at for m in members if m.active(now))
    return min((e for e in expiries if isinstance(e, datetime)), default=None)
