"""``lnamespace payers check``: validate the payers' file, and try its rules for a person."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from lnamespace.errors import PayersError
from lnamespace.model.billing import BILLING_TEXTS, Charge
from lnamespace.model.names import Names
from lnamespace.model.rules import billing_text_problem
from lnamespace.payers.entries import Claim, Payers, Requester, requester_of
from lnamespace.payers.parsing import BYTES_MAX, decode
from lnamespace.payers.refusals import quoted
from lnamespace.payers.resolution import BillingRefusal, Resolution, resolve
from lnamespace.settings import Settings


def check(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print what the file says, and who would pay for the person that the arguments name.

    Returns
    -------
    int
        The exit code: 1 if the person would be refused, else 0.

    Raises
    ------
    PayersError
        The file cannot be read or used, or an argument needs another one.
    """
    payers = decode(_read(arguments.file), arguments.file)
    print(f"{arguments.file}: {_summary(payers)}")
    if not arguments.user:
        if arguments.group or arguments.cost_center:
            raise PayersError("--group and --cost-center need --user")
        return 0
    names = Names(settings.api_group_suffix, settings.sudoers_group_format)
    who = requester_of(arguments.user, arguments.group, names)
    found = _checked(resolve(payers, who, Charge(cost_center=arguments.cost_center)))
    print("\n".join(_report(payers, who, frozenset(arguments.group) - who.groups, found)))
    return 1 if isinstance(found, BillingRefusal) else 0


def _checked(found: Resolution | BillingRefusal) -> Resolution | BillingRefusal:
    """Return the refusal of a charge that the API would refuse.

    A pattern can copy any text from the name of a group; the webhook checks it at the end.
    """
    if isinstance(found, BillingRefusal):
        return found
    for key, name in BILLING_TEXTS.items():
        text = getattr(found.charge, name)
        if problem := billing_text_problem(name, text):
            return BillingRefusal(f"{key} {quoted(text)}: {problem}")
    return found


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        raise PayersError(f"{path}: cannot be read: {error.strerror}") from error


def _summary(payers: Payers) -> str:
    entries = len(payers.entries)
    count = {0: "no entries", 1: "1 entry"}.get(entries, f"{entries} entries")
    return (
        f"{count}; onMissing: {payers.on_missing}, onAmbiguous: {payers.on_ambiguous}, "
        f"default: {quoted(payers.default.cost_center)}"
    )


def _report(
    payers: Payers, who: Requester, ignored: frozenset[str], found: Resolution | BillingRefusal
) -> Iterator[str]:
    for group in sorted(ignored):
        yield f"group {quoted(group)} does not count: it is one of sudoers"
    yield ""
    yield from _claims(who, payers.claims(who))
    if payers.entries and payers.chooses_freely(who):
        yield f"{quoted(who.username)} may name any other cost centre too"
    yield ""
    if isinstance(found, BillingRefusal):
        yield f"refused: {found.message}"
        return
    yield "billing:"
    yield from _billing(found.charge)
    by = f" ({quoted(found.group)})" if found.group else ""
    yield f"source: {found.source}{by}"
    yield f"because: {found.why}"


def _claims(who: Requester, claims: Sequence[Claim]) -> Iterator[str]:
    yield f"{quoted(who.username)} may charge" + (":" if claims else " nothing by the entries")
    for claim in sorted(claims, key=lambda c: (c.source.value, -c.priority, c.position)):
        by = f"group {quoted(claim.group)}" if claim.group else "user"
        yield (
            f"  {quoted(claim.charge.cost_center)}  by {by}, entries[{claim.position}], "
            f"priority {claim.priority}"
        )


def _billing(charge: Charge) -> Iterator[str]:
    fields = {key: getattr(charge, name) for key, name in BILLING_TEXTS.items()}
    yield from (f"  {key}: {quoted(text)}" for key, text in fields.items() if text)
    if charge.labels:
        yield "  labels:"
        yield from (f"    {quoted(k)}: {quoted(v)}" for k, v in sorted(charge.labels.items()))
