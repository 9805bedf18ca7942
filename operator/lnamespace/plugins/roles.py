"""What one caller is on one LNamespace: directly or through a group, until when."""

from __future__ import annotations

from datetime import datetime

from lnamespace.plugins.durations import human
from lnamespace.plugins.lnamespaces import Object, sudo_identity
from lnamespace.plugins.subjects import LISTS, Caller, Subject, covering, entries
from lnamespace.plugins.values import NamedTuple


class Role(NamedTuple):
    """One thing that the caller is or was; `until` is None where there is no end."""

    role: str
    until: datetime | None
    expired: bool


class Access(NamedTuple):
    """Everything that ties the caller to an LNamespace."""

    roles: tuple[Role, ...]
    requester: bool

    @property
    def any(self) -> bool:
        """Whether it is one of the caller's at all."""
        return bool(self.roles) or self.requester

    @property
    def names(self) -> str:
        """What the caller may be now, as a table cell."""
        return ",".join(role.role for role in self.roles if not role.expired) or "<none>"

    def ends(self, now: datetime) -> str:
        """What ends when, as a table cell: `sudoer=8h`."""
        cells = (
            f"{role.role}={'expired' if role.expired else human(role.until - now)}"
            for role in self.roles
            if role.until
        )
        return ",".join(cells) or "<none>"


def access(lns: Object, me: Caller, now: datetime) -> Access:
    """What the caller is on this LNamespace."""
    spec = lns.get("spec", {})
    if sudo_identity(lns).account == me.username:  # somebody with sudo, whoever it is
        return Access((Role("sudoer", None, False),), requester=False)
    roles = (_role(role, covering(entries(spec, field), me), now) for role, field in LISTS.items())
    return Access(
        tuple(role for role in roles if role is not None), spec.get("requester") == me.username
    )


def _role(role: str, found: tuple[Subject, ...], now: datetime) -> Role | None:
    """Several entries may give the same role; the one that lasts longest counts."""
    if not found:
        return None
    if any(subject.expires_at is None for subject in found):
        return Role(role, None, False)
    until = max(subject.expires_at for subject in found if subject.expires_at)
    return Role(role, until, until <= now)
