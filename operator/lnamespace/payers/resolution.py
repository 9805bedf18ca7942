"""Decide who pays, from the requester, the charge that they ask for and the configuration. Pure.

The rules, each named where it is applied:

* R1  The charge that is asked for wins. Its cost centre must be one of the requester's claims,
  unless they choose freely or nothing is configured.
* R2  Entries for the user beat entries for groups.
* R3  The claims are all entries that fit; their order does not matter.
* R4  Claims on one cost centre are one.
* R5  Otherwise the highest priority wins.
* R6  Still several: refused, with the claims and what to write; or the default.
* R7  None: the default; or refused.
* R8  A ServiceAccount without claims inherits from the LNamespace it lives in, if listed there.
* R9  These rules apply at creation. A later change is a person's, and R1 applies to them.
* R10 Under ``kubectl sudo`` a person's groups are hidden, and too many groups do not count: a
  decision that would depend on them is refused.

People have claims on cost centres only, for these are charged. Owner, team, environment and labels
describe a charge: an entry fills in those that were not asked for (docs/decisions/0014-payers.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lnamespace.model.billing import BILLING_TEXTS, BillingSource, Charge
from lnamespace.payers import refusals
from lnamespace.payers.entries import Claim, Fallback, Payers, Requester
from lnamespace.payers.refusals import BillingRefusal

__all__ = ["BillingRefusal", "Requester", "Resolution", "check_change", "resolve"]

_TEXTS = tuple(BILLING_TEXTS.values())


@dataclass(frozen=True)
class Resolution:
    """The payer, and the rule that chose it.

    Attributes
    ----------
    charge
        The charge without provenance.
    group
        The group whose entry decided, for the source Group.
    why
        An explanation for people who try the rules out.
    """

    charge: Charge
    source: BillingSource
    group: str = ""
    why: str = ""


def resolve(
    payers: Payers, requester: Requester, asked: Charge, inherited: Charge | None = None
) -> Resolution | BillingRefusal:
    """Return who pays for a new LNamespace, or why it is refused.

    Parameters
    ----------
    asked
        The charge that the requester wrote; empty fields are to be filled in.
    inherited
        Who pays for the LNamespace that the requester lives in, if it is a ServiceAccount that is
        listed there.
    """
    claims = payers.claims(requester)
    home = inherited if requester.home and inherited and inherited.cost_center else None
    if asked.cost_center:
        return _chosen(payers, requester, asked, claims, home)
    if claims:
        return _claimed(payers, asked, claims)
    if home:  # R8
        why = "as the LNamespace that the ServiceAccount lives in"
        return Resolution(_completed(asked, home), BillingSource.INHERITED, why=why)
    if payers.entries and requester.hidden:  # R10
        return refusals.unknown(requester)
    if payers.entries and payers.on_missing is Fallback.REJECT:  # R7
        return refusals.missing(requester)
    charge = _completed(asked, payers.default)
    why = "no entry fits: the default" if payers.entries else "nothing is configured"
    return Resolution(charge, BillingSource.DEFAULT, why=why)


def check_change(
    payers: Payers,
    requester: Requester,
    old: Charge,
    new: Charge,
    inherited: Charge | None = None,
) -> BillingRefusal | None:
    """Return why the requester may not change who pays from ``old`` to ``new``; None if they may.

    This is R9. The present cost centre needs no claim: it is charged already.
    """
    if new.cost_center == old.cost_center:
        return refusals.cleared() if _is_empty(new) and not _is_empty(old) else None
    if not new.cost_center:
        return refusals.cleared()
    claims = payers.claims(requester)
    home = inherited if requester.home else None
    if payers.chooses_freely(requester) or _on(claims, new.cost_center):
        return None
    if home and home.cost_center == new.cost_center and not claims:
        return None
    return refusals.not_claimed(requester, new.cost_center, claims)


def _chosen(
    payers: Payers,
    requester: Requester,
    asked: Charge,
    claims: Sequence[Claim],
    home: Charge | None,
) -> Resolution | BillingRefusal:
    """Apply R1: the requester named a cost centre."""
    source = BillingSource.EXPLICIT
    if own := _on(claims, asked.cost_center):
        why = "asked for, and an entry allows it"
        return Resolution(_completed(asked, _agreed(_preferred(own))), source, why=why)
    fallback = home or (payers.default if payers.on_missing is Fallback.DEFAULT else None)
    # Who may have claims that are not seen, as under sudo, would dodge them by naming the default.
    has_none = not claims and not (payers.entries and requester.hidden)
    if has_none and fallback and fallback.cost_center == asked.cost_center:
        why = "asked for, and what would be without asking"
        return Resolution(_completed(asked, fallback), source, why=why)
    if payers.chooses_freely(requester):
        why = "asked for, and chosen freely" if payers.entries else "asked for"
        return Resolution(asked, source, why=why)
    return refusals.not_claimed(requester, asked.cost_center, claims)


def _claimed(payers: Payers, asked: Charge, claims: Sequence[Claim]) -> Resolution | BillingRefusal:
    """Apply R2, R4, R5 and R6: the requester named no cost centre, and has claims."""
    highest = _preferred(claims)
    if len({claim.charge.cost_center for claim in highest}) == 1:
        first = min(highest, key=lambda claim: claim.group)
        charge = _completed(asked, _agreed(highest))
        return Resolution(charge, first.source, first.group, _why(claims, highest))
    if payers.on_ambiguous is Fallback.REJECT:
        return refusals.ambiguous(claims)
    why = "several entries fit: the default"
    return Resolution(_completed(asked, payers.default), BillingSource.AMBIGUOUS, why=why)


def _why(claims: Sequence[Claim], highest: Sequence[Claim]) -> str:
    if len({claim.charge.cost_center for claim in claims}) == 1:
        return (
            "all entries that fit have this cost centre"
            if len(claims) > 1
            else "the one entry that fits"
        )
    if highest[0].source is BillingSource.USER:
        return "an entry for the user comes before entries for groups"
    return "the entry with the highest priority"


def _on(claims: Sequence[Claim], cost_center: str) -> list[Claim]:
    return [claim for claim in claims if claim.charge.cost_center == cost_center]


def _preferred(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims of highest priority, of those for the user if there are any."""
    best = [c for c in claims if c.source is BillingSource.USER] or claims
    priority = max(claim.priority for claim in best)
    return [claim for claim in best if claim.priority == priority]


def _agreed(claims: Sequence[Claim]) -> Charge:
    """Return the fields that all claims agree on; those in which they differ are empty."""
    first, *others = (claim.charge for claim in claims)
    texts = {
        field: getattr(first, field)
        for field in _TEXTS
        if all(getattr(other, field) == getattr(first, field) for other in others)
    }
    labels = {
        key: value
        for key, value in first.labels.items()
        if all(other.labels.get(key) == value for other in others)
    }
    return Charge(**texts, labels=labels)


def _completed(asked: Charge, default: Charge) -> Charge:
    """Return the charge that was asked for, its empty fields filled in from the default."""
    texts = {field: getattr(asked, field) or getattr(default, field) for field in _TEXTS}
    return Charge(**texts, labels=default.labels | asked.labels)


def _is_empty(charge: Charge) -> bool:
    return not charge.labels and not any(getattr(charge, field) for field in _TEXTS)
