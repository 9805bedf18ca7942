"""Who can stand in a list of an LNamespace."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

NAME_MAX_LENGTH = 512
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"

Timestamp = Annotated[datetime, Meta(tz=True)]
"""A moment with its time zone, so that no two readers differ."""


class SubjectKind(StrEnum):
    """What RBAC can name (rbac.authorization.k8s.io/v1, Subject)."""

    USER = "User"
    GROUP = "Group"
    SERVICE_ACCOUNT = "ServiceAccount"


class Subject(msgspec.Struct, frozen=True, order=True):
    """Somebody as RBAC knows them; equal subjects are one person."""

    kind: SubjectKind
    name: str
    namespace: str = ""

    @property
    def username(self) -> str:
        """The name by which the API server knows a User or a ServiceAccount."""
        if self.kind is SubjectKind.SERVICE_ACCOUNT:
            return f"{SERVICE_ACCOUNT_PREFIX}{self.namespace}:{self.name}"
        return self.name


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
        """The person meant: a ServiceAccount written as a User's name is that ServiceAccount."""
        if self.kind is SubjectKind.USER and self.name.startswith(SERVICE_ACCOUNT_PREFIX):
            namespace, _, name = self.name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
            return Subject(SubjectKind.SERVICE_ACCOUNT, name, namespace)
        return Subject(self.kind, self.name, self.namespace)

    def active(self, now: datetime) -> bool:
        """Whether the entry still counts at ``now`` (aware): it ends at its second, not after."""
        return isinstance(self.expires_at, UnsetType) or self.expires_at > now


def next_expiry(members: Iterable[Member], now: datetime) -> datetime | None:
    """When the next entry ends, if one will."""
    expiries = (m.expires_at for m in members if m.active(now))
    return min((e for e in expiries if isinstance(e, datetime)), default=None)
