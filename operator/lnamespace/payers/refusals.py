"""The messages of :mod:`lnamespace.payers.resolution`: which claims people have, what to write.

Other people choose the names of groups and users. They are quoted as JSON or for a shell, without
control characters, and shortened.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from lnamespace.payers.entries import GROUPS_MAX, Claim, Requester

COST_CENTER = "spec.billing.costCenter"
_SHOWN_MAX = 200
_LISTED_MAX = 50


@dataclass(frozen=True)
class BillingRefusal:
    """The reason for which a charge is refused, and the remedy.

    Attributes
    ----------
    field
        The path of the field to change.
    missing
        Whether the field needs a value; otherwise its value is wrong.
    """

    message: str
    field: str = COST_CENTER
    missing: bool = False


def ambiguous(claims: Sequence[Claim]) -> BillingRefusal:
    """Refuse by R6: the person has claims on several cost centres, and named none."""
    return BillingRefusal(f"several could pay, so say which one:{_choices(claims)}", missing=True)


def not_claimed(requester: Requester, cost_center: str, claims: Sequence[Claim]) -> BillingRefusal:
    """Refuse by R1: the person has no claim on the cost centre that they named."""
    hint = _hint(requester)
    asked = f"you may not charge {quoted(cost_center)}"
    if claims:
        return BillingRefusal(f"{asked}; you may charge:{_choices(claims)}{hint}")
    return BillingRefusal(
        f"{asked}: no entry is for you; {_ask_for_entry(requester, cost_center)}{hint}"
    )


def missing(requester: Requester) -> BillingRefusal:
    """Refuse by R7: no entry fits the person."""
    asked = f"{_ask_for_entry(requester, '...')}{_hint(requester)}"
    return BillingRefusal(f"nobody pays for you yet; {asked}", missing=True)


def unknown(requester: Requester) -> BillingRefusal:
    """Refuse by R10: the person's groups are hidden, or not looked up yet."""
    return BillingRefusal(f"who pays depends on your groups.{_hint(requester)}", missing=True)


def cleared() -> BillingRefusal:
    """Refuse by R9: somebody removed the cost centre of an LNamespace."""
    return BillingRefusal(
        "somebody must pay: to change who does, write another cost centre in its place",
        missing=True,
    )


def quoted(text: str) -> str:
    """Return text as a JSON string, which YAML can read, shortened if it is very long."""
    return json.dumps(_shortened(text), ensure_ascii=not text.isprintable())


def _choices(claims: Sequence[Claim]) -> str:
    """Return a line for each cost centre: for a file, for the command, and whose claim it is."""
    sources: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda c: (-c.priority, c.charge.cost_center, c.group)):
        sources.setdefault(claim.charge.cost_center, claim)
    shown = [_choice(*source) for source in list(sources.items())[:_LISTED_MAX]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        f"\n  {field.ljust(widths[0])}  or  {flag.ljust(widths[1])}  ({by})"
        for field, flag, by in shown
    ]
    more = len(sources) - len(shown)
    return "".join(lines) + (f"\n  and {more} more" if more else "")


def _choice(cost_center: str, claim: Claim) -> tuple[str, str, str]:
    word = shlex.quote(_shortened(cost_center)) if cost_center.isprintable() else "..."
    return (
        f"costCenter: {quoted(cost_center)}",
        f"--cost-center {word}",
        f"group {quoted(claim.group)}" if claim.group else "yours",
    )


def not_inherited(requester: Requester) -> str:
    """Return why R8 does not apply to a ServiceAccount that its LNamespace does not list."""
    home = quoted(requester.unlisted)
    return (
        f"a ServiceAccount of LNamespace {home} charges the same cost centre only if a manager "
        "lists it there as a manager too, for everybody who works there can act as it"
    )


def _hint(requester: Requester) -> str:
    if requester.sudo:
        return "\nYour groups do not count under `kubectl sudo`: do it without."
    if requester.pending:
        return "\nYour groups are just being looked up: try again in a few seconds."
    if requester.crowded:
        return (
            f"\nYou are in more than {GROUPS_MAX} groups, so that none of them counts here: ask "
            "your platform team for an entry for your user."
        )
    if requester.unlisted:
        return f"\n{not_inherited(requester)}."
    return ""


def _ask_for_entry(requester: Requester, cost_center: str) -> str:
    user = quoted(requester.username)
    entry = f"- {{user: {user}, billing: {{costCenter: {quoted(cost_center)}}}}}"
    return f"ask your platform team for an entry:\n  {entry}"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
