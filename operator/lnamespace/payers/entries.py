"""Who pays by default, as the platform team configures it: entries for users and groups.

A person has *claims*: one for each entry that fits them, saying who would pay. What follows from
them is decided in :mod:`lnamespace.payers.resolution`. How it is written down: docs/payers.md.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import msgspec

from lnamespace.model.lnamespace import BillingSource, Charge
from lnamespace.model.names import Names
from lnamespace.model.rules import DNS_LABEL
from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.payers.patterns import GroupPattern

UNALLOCATED = Charge(cost_center="unallocated")
"""Who pays where nothing says who does: to be seen in every report, until somebody does."""

GROUPS_MAX = 1000
"""So many groups of a person are looked at. A Kerberos ticket names at most 1,015, a token of
Entra ID 200; a request says as many as its sender likes, and each is compared with each pattern."""


class Fallback(StrEnum):
    """What to do when the entries do not say who pays."""

    DEFAULT = "Default"
    REJECT = "Reject"


@dataclass(frozen=True)
class Requester:
    """Who asks, as the API server authenticated them.

    ``groups`` are those that are evidence of who somebody is. ``sudo``: they ask under
    ``kubectl sudo``, which hides their own groups. ``pending``: a directory is being asked for
    more of their groups. ``crowded``: they are in more than :data:`GROUPS_MAX` groups, so that
    none is looked at. ``unlisted``: the LNamespace that a ServiceAccount lives in, which does
    not list it.
    """

    username: str
    groups: frozenset[str] = frozenset()
    sudo: bool = False
    pending: bool = False
    crowded: bool = False
    unlisted: str = ""

    @property
    def hidden(self) -> bool:
        """Whether not all of their groups are known here."""
        return self.sudo or self.pending or self.crowded

    @property
    def home(self) -> str:
        """The namespace that a ServiceAccount lives in; empty for people."""
        if not self.username.startswith(SERVICE_ACCOUNT_PREFIX):
            return ""
        return self.username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")[0]


def requester_of(
    username: str,
    groups: Collection[str],
    names: Names,
    found: frozenset[str] | None = frozenset(),
) -> Requester:
    """Who asks, without the groups that prove nothing.

    ``groups`` are the login's; ``found`` are those that a directory knows, None while it is being
    asked. Whoever makes an LNamespace chooses its name, and may impersonate its sudoers group:
    such a group must not say who pays.
    """
    known = frozenset(groups) | (found or frozenset())
    if len(known) > GROUPS_MAX:
        return Requester(username, sudo=names.is_sudo_account(username), crowded=True)
    sudoers = {group for group in known if _is_sudoers(group, names)}
    others = known - sudoers - {"system:authenticated"}
    return Requester(
        username,
        known - sudoers,
        sudo=(bool(sudoers) and not others) or names.is_sudo_account(username),
        pending=found is None,
    )


def _is_sudoers(group: str, names: Names) -> bool:
    before, _, after = names.group_format.partition("{name}")
    tenant = group.removeprefix(before).removesuffix(after)
    return group == names.sudoers_group(tenant) and re.fullmatch(DNS_LABEL, tenant) is not None


@dataclass(frozen=True)
class Entry:
    """Who pays for whom: one of ``user``, ``group`` and ``pattern`` is set.

    ``position`` is its place in the file, from 0.
    """

    position: int
    charge: Charge
    user: str = ""
    group: str = ""
    pattern: GroupPattern | None = None
    priority: int = 0


@dataclass(frozen=True)
class Claim:
    """Who would pay by one entry, for one person; ``group`` is theirs that it goes by."""

    charge: Charge
    source: BillingSource
    group: str = ""
    priority: int = 0
    position: int = 0


@dataclass(frozen=True)
class DirectoryConfig:
    """Where to look up groups that a login does not tell, and how long an answer counts."""

    provider: str
    refresh_minutes: int = 60


@dataclass(frozen=True)
class Payers:
    """The whole configuration. Without entries, whatever is asked for is accepted."""

    entries: tuple[Entry, ...] = ()
    default: Charge = UNALLOCATED
    on_missing: Fallback = Fallback.DEFAULT
    on_ambiguous: Fallback = Fallback.REJECT
    free_choice_groups: frozenset[str] = frozenset()
    directory: DirectoryConfig | None = None

    def claims(self, who: Requester) -> tuple[Claim, ...]:
        """One for each entry that fits, and for a pattern one for each group that does.

        The order does not depend on that of the groups.
        """
        users = [
            Claim(e.charge, BillingSource.USER, "", e.priority, e.position)
            for e in self._by_user.get(who.username, ())
        ]
        groups = [
            Claim(e.charge, BillingSource.GROUP, group, e.priority, e.position)
            for group in sorted(who.groups)
            for e in self._by_group.get(group, ())
        ]
        return (*users, *groups, *self._matches(who))

    def free(self, who: Requester) -> bool:
        """Whether they may name whatever cost centre they like."""
        return not self.entries or not self.free_choice_groups.isdisjoint(who.groups)

    def _matches(self, who: Requester) -> Iterable[Claim]:
        groups = sorted(who.groups) if self._patterns else ()
        for entry, pattern in self._patterns:
            for group in groups:
                fields = pattern.captured(group)
                charge = msgspec.structs.replace(entry.charge, **fields) if fields else entry.charge
                if fields is not None and charge.cost_center:
                    yield Claim(charge, BillingSource.GROUP, group, entry.priority, entry.position)

    @cached_property
    def _patterns(self) -> tuple[tuple[Entry, GroupPattern], ...]:
        return tuple((entry, entry.pattern) for entry in self.entries if entry.pattern)

    @cached_property
    def _by_user(self) -> Mapping[str, list[Entry]]:
        found = defaultdict(list)
        for entry in self.entries:
            if entry.user:
                found[entry.user].append(entry)
        return dict(found)

    @cached_property
    def _by_group(self) -> Mapping[str, list[Entry]]:
        found = defaultdict(list)
        for entry in self.entries:
            if entry.group:
                found[entry.group].append(entry)
        return dict(found)
