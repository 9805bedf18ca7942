"""What is legal and probably wrong, in sentences that the person sees beside the answer. Pure."""

from collections.abc import Iterator
from datetime import datetime

from lnamespace.access.entries import entries
from lnamespace.admission.decisions.policy import Policy
from lnamespace.admission.decisions.review import UserInfo
from lnamespace.model.lnamespace import LNamespace, Spec
from lnamespace.model.rules import lookalike
from lnamespace.model.subject import Member, SubjectKind


def warnings(new: LNamespace, before: Spec, policy: Policy, now: datetime) -> tuple[str, ...]:
    """Of what is new: who changes something else need not read them again."""
    found = (
        *_of_entries("users", new, new.spec.users, before.users, policy, now),
        *_of_entries("managers", new, new.spec.managers, before.managers, policy, now),
        *_of_entries("sudoers", new, new.spec.sudoers, before.sudoers, policy, now),
        *_of_editors(new.spec, before, now),
    )
    return tuple(dict.fromkeys(found))


def farewell(new: Spec, before: Spec, caller: UserInfo, now: datetime) -> Iterator[str]:
    """Warn somebody who takes their own last right to change the LNamespace."""
    if _edits(before, caller, now) and not _edits(new, caller, now):
        yield "spec.managers: after this you can no longer change this LNamespace yourself"


def _edits(spec: Spec, caller: UserInfo, now: datetime) -> bool:
    current = entries(spec, now)
    return any(
        subject.name in caller.groups
        if subject.kind is SubjectKind.GROUP
        else subject.username == caller.username
        for subject in (*current.managers, *current.sudoers)
    )


def _of_entries(
    field: str,
    new: LNamespace,
    members: tuple[Member, ...],
    before: tuple[Member, ...],
    policy: Policy,
    now: datetime,
) -> Iterator[str]:
    known, seen = set(before), set[object]()
    for index, member in enumerate(members):
        if member not in known:
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
    if text := lookalike(member.name):
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


def _of_editors(new: Spec, before: Spec, now: datetime) -> Iterator[str]:
    if _last_editor(before, now) == (end := _last_editor(new, now)):
        return
    if end is not None:
        yield (
            f"spec.managers: after {end.isoformat(timespec='seconds')} nobody but a cluster "
            "administrator can edit this LNamespace"
        )


def _last_editor(spec: Spec, now: datetime) -> datetime | None:
    """When the last editor's entry ends; None where one does not, or where there is none."""
    current = entries(spec, now)
    editors = {*current.managers, *current.sudoers}
    ends: list[datetime] = []
    for member in (*spec.managers, *spec.sudoers):
        if member.subject in editors:
            if not isinstance(member.expires_at, datetime):
                return None
            ends.append(member.expires_at)
    return max(ends, default=None)
