"""Warnings of what is allowed and probably a mistake; kubectl prints them beside the answer."""

from collections.abc import Iterator
from datetime import UTC, datetime

from lnamespace.admission.decisions.decision import Policy
from lnamespace.admission.decisions.editors import Editors
from lnamespace.admission.decisions.review import UserInfo
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import LNamespace, Spec
from lnamespace.model.rules import lookalike_warning
from lnamespace.model.subject import Member, SubjectKind


def entry_warnings(
    new: LNamespace | LCluster, before: Spec, policy: Policy, now: datetime
) -> tuple[str, ...]:
    """Return the warnings of the entries that ``before`` does not have, each once."""
    found = (
        *_of_entries("users", new, new.spec.users, before.users, policy, now),
        *_of_entries("managers", new, new.spec.managers, before.managers, policy, now),
        *_of_entries("sudoers", new, new.spec.sudoers, before.sudoers, policy, now),
    )
    return tuple(dict.fromkeys(found))


def editor_warnings(editors: Editors, before: Editors, user: UserInfo) -> Iterator[str]:
    """Warn of an end to all editors, and a user who takes their own last right to edit."""
    if editors.until is not None and editors.until != before.until:
        yield (
            f"spec.managers: after {editors.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} nobody but a "
            "cluster administrator can edit this LNamespace"
        )
    if before.include(user) and not editors.include(user):
        yield "spec.managers: after this you can no longer change this LNamespace yourself"


def creation_warning(editors: Editors, user: UserInfo) -> Iterator[str]:
    """Warn people who can neither change nor delete what they create: others may be typos."""
    if not editors.include(user):
        yield "spec.managers: you are no manager and no sudoer: only those who are can change this"


def _of_entries(
    field: str,
    new: LNamespace | LCluster,
    members: tuple[Member, ...],
    before: tuple[Member, ...],
    policy: Policy,
    now: datetime,
) -> Iterator[str]:
    listed_before, seen = set(before), set[object]()
    for index, member in enumerate(members):
        if member not in listed_before:
            place = f"spec.{field}[{index}]"
            yield from _of_entry(place, member, now)
            yield from _of_groups(place, member, new.name, policy)
            if field == "sudoers":
                yield from _of_sudoer(place, member, policy)
            if member.subject in seen:
                yield f"{place}: {member.subject.username} is in this list twice"
        seen.add(member.subject)


def _of_entry(place: str, member: Member, now: datetime) -> Iterator[str]:
    if not member.active(now):
        yield f"{place}.expiresAt: is in the past: the entry gives nothing"
    if text := lookalike_warning(member.name):
        yield f"{place}.name: {text}"


def _of_groups(place: str, member: Member, tenant: str, policy: Policy) -> Iterator[str]:
    group = policy.names.sudoers_group(tenant)
    if member.kind is SubjectKind.SERVICE_ACCOUNT or member.name != group:
        return
    if member.kind is SubjectKind.GROUP:
        yield (
            f'{place}: "{group}" is the group that sudoers become for the length of a command; '
            "nobody is in it at other times"
        )
    else:
        yield f'{place}: "{group}" is a group\'s name; as a User it is nobody'


def _of_sudoer(place: str, member: Member, policy: Policy) -> Iterator[str]:
    if member.subject.username in policy.never_impersonate:
        yield (
            f"{place}: nobody may impersonate {member.subject.username} here, not even "
            "themselves, so that kubectl sudo will not work for them"
        )
