"""Build the object to create from the command line; pure."""

from __future__ import annotations

from datetime import datetime

from lnamespace.plugins.model.api_group import api_version
from lnamespace.plugins.model.lnamespaces import LNAMESPACE, Object, ResourceKind, check_name
from lnamespace.plugins.model.subjects import LISTS, ListEntry, check_role, manifest, parse_subject
from lnamespace.plugins.model.times import parse_duration
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import BILLING, POLICIES, Arguments, dry_run, keyed, one_of
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Creation(NamedTuple):
    """The parsed command line of a creation."""

    name: str
    lists: Mapping[str, tuple[ListEntry, ...]]  # by field of the spec
    billing: Mapping[str, Any]
    labels: Mapping[str, str]
    profile: str
    deletion_policy: str
    deletion_protection: bool
    wait: bool
    timeout: float
    dry_run: str
    connection: tuple[str, ...]
    kind: ResourceKind = LNAMESPACE
    notes: tuple[str, ...] = ()  # for whoever typed it


def read(arguments: Arguments, now: datetime, kind: ResourceKind = LNAMESPACE) -> Creation:
    """Check all that can be checked before anything is sent."""
    if len(arguments.words) != 1:
        raise UsageError(f"exactly one NAME is required, got {len(arguments.words)}")
    name, (lists, notes) = check_name(arguments.words[0], kind), _lists(arguments, now)
    return Creation(
        name=name,
        lists=lists,
        billing=_billing(arguments),
        labels=_keyed(arguments, "label"),
        profile=arguments.one("profile"),
        deletion_policy=one_of(arguments, "deletion-policy", (*POLICIES, ""), ""),
        deletion_protection=arguments.switch("deletion-protection"),
        wait=arguments.switch("wait", default=True),
        timeout=parse_duration(arguments.one("timeout", "60s")).total_seconds(),
        dry_run=dry_run(arguments),
        connection=arguments.connection,
        kind=kind,
        notes=notes,
    )


def _lists(
    arguments: Arguments, now: datetime
) -> tuple[dict[str, tuple[ListEntry, ...]], tuple[str, ...]]:
    """Return the entries of each list, and the notes about them."""
    lists: dict[str, tuple[ListEntry, ...]] = {}
    notes = []
    for role, field in LISTS.items():
        found = {}  # if a subject is given twice, the last one counts
        for text in arguments.all(role):
            typed = parse_subject(text, now)
            check_role(role, typed.identity.kind)
            found[typed.identity] = ListEntry(typed.identity, typed.expires_at)
            notes.append(typed.note)
        lists[field] = tuple(found.values())
    return lists, tuple(dict.fromkeys(filter(None, notes)))  # once for a name on two lists


def _billing(arguments: Arguments) -> dict[str, Any]:
    billing: dict[str, Any] = {}
    for flag, field in BILLING.items():
        if arguments.given(flag):
            billing[field] = arguments.one(flag)
            if not billing[field]:  # a variable of a script that is not set: another would pay
                raise UsageError(f'invalid argument "" for --{flag}: leave it out for the default')
    labels = _keyed(arguments, "billing-label")
    return {**billing, "labels": labels} if labels else billing


def _keyed(arguments: Arguments, flag: str) -> dict[str, str]:
    return dict(keyed(flag, text) for text in arguments.all(flag))


def requested(creation: Creation) -> Object:
    """Return the object to send, with nothing but what was given; the cluster sets the rest."""
    spec: dict[str, Any] = {
        field: [manifest(item) for item in items]
        for field, items in creation.lists.items()
        if items
    }
    if creation.billing:
        spec["billing"] = creation.billing
    if creation.profile:
        spec["profile"] = creation.profile
    if creation.deletion_policy:
        spec["deletionPolicy"] = creation.deletion_policy
    if creation.deletion_protection:
        spec["deletionProtection"] = True
    labels = dict(creation.labels)
    return {
        "apiVersion": api_version(),
        "kind": creation.kind.kind,
        "metadata": {"name": creation.name} | ({"labels": labels} if labels else {}),
        "spec": spec,
    }
