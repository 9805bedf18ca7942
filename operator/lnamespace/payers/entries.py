"""The configuration of who pays by default: entries for users, groups and group patterns.

A person has a *claim* for each entry that fits them: the cost centre that they may charge.
:mod:`lnamespace.payers.resolution` chooses among claims. The file's format: docs/payers.md.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import msgspec

from lnamespace.model.billing import BillingSource, Charge
from lnamespace.model.names import Names
from lnamespace.model.rules import DNS_LABEL
from lnamespace.model.subject import subject_of_username
from lnamespace.payers.patterns import GroupPattern

UNALLOCATED = Charge(cost_center="unallocated")
"""The default payer of a file without a default. Not empty, so that every report shows it."""

GROUPS_MAX = 1000
"""The most groups of a person; if there are more, none counts.

A Kerberos ticket names at most 1,015, a token of Entra ID 200. A request can name 300,000, and each
is matched by each pattern: 50 patterns took 13 s.
"""


class Fallback(StrEnum):
    """The rule for requesters whose payer the entries do not name."""

    DEFAULT = "Default"
    REJECT = "Reject"


@dataclass(frozen=True)
class Requester:
    """The person or ServiceAccount that sent a request, as the API server authenticated them.

    Attributes
    ----------
    groups
        The groups of the login, without sudoers groups, which prove nothing.
    sudo
        Whether the request came by ``kubectl sudo``, which hides the person's own groups.
    pending
        Whether a directory is being asked for more of their groups.
    crowded
        Whether they are in more than :data:`GROUPS_MAX` groups, so that none counts.
    unlisted
        The LNamespace that a ServiceAccount lives in, if that does not list it.
    """

    username: str
    groups: frozenset[str] = frozenset()
    sudo: bool = False
    pending: bool = False
    crowded: bool = False
    unlisted: str = ""

    @property
    def hidden(self) -> bool:
        """Return whether the requester may have groups that are not known here."""
        return self.sudo or self.pending or self.crowded

    @property
    def home(self) -> str:
        """Return the namespace that a ServiceAccount lives in; empty for people."""
        return subject_of_username(self.username).namespace


def requester_of(
    username: str,
    groups: Collection[str],
    names: Names,
    found: frozenset[str] | None = frozenset(),
) -> Requester:
    """Return the requester, without the groups that prove nothing.

    Users choose the names of their LNamespaces, and may impersonate the sudoers groups of these. So
    a sudoers group must not decide who pays.

    Parameters
    ----------
    groups
        The groups of the login.
    found
        The groups that a directory knows; None while it is being asked.
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
    """An entry of the file: whom it is for, and who pays for them.

    One of ``user``, ``group`` and ``pattern`` is set. ``position`` is its index in the file.
    """

    position: int
    charge: Charge
    user: str = ""
    group: str = ""
    pattern: GroupPattern | None = None
    priority: int = 0


@dataclass(frozen=True)
class Claim:
    """A payer for a person by one entry; ``group`` is the person's group that the entry is for."""

    charge: Charge
    source: BillingSource
    group: str = ""
    priority: int = 0
    position: int = 0


@dataclass(frozen=True)
class DirectoryConfig:
    """The directory of the groups that a login does not name, and how long to cache them."""

    refresh_minutes: int = 60


@dataclass(frozen=True)
class Payers:
    """The whole configuration. Without entries, people may charge any cost centre."""

    entries: tuple[Entry, ...] = ()
    default: Charge = UNALLOCATED
    on_missing: Fallback = Fallback.DEFAULT
    on_ambiguous: Fallback = Fallback.REJECT
    free_choice_groups: frozenset[str] = frozenset()
    directory: DirectoryConfig | None = None

    def claims(self, who: Requester) -> tuple[Claim, ...]:
        """Return a claim for each entry that fits; a pattern gives one for each group it matches.

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

    def chooses_freely(self, who: Requester) -> bool:
        """Return whether a requester may charge any cost centre."""
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
        return _grouped((entry.user, entry) for entry in self.entries)

    @cached_property
    def _by_group(self) -> Mapping[str, list[Entry]]:
        return _grouped((entry.group, entry) for entry in self.entries)


def _grouped(pairs: Iterable[tuple[str, Entry]]) -> Mapping[str, list[Entry]]:
    found = defaultdict(list)
    for key, entry in pairs:
        if key:
            found[key].append(entry)
    return dict(found)
