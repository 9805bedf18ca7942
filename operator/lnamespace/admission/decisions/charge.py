"""Who pays, as the door writes it into the spec: resolved once, with where it came from.

What is not yet recorded for the ledger is kept beside what replaces it, in the same write, so that
no change is lost to a controller that happens to be down (docs/decisions/0013-outbox.md).
"""

from typing import Any

import msgspec

from lnamespace.admission.decisions.fields import FieldError, forbidden
from lnamespace.admission.decisions.policy import Circumstances, Policy
from lnamespace.admission.decisions.review import Request
from lnamespace.model.lnamespace import SUPERSEDED_MAX, BillingSource, Charge, Provenance
from lnamespace.payers.resolution import Refusal, resolve

Json = dict[str, Any]

FIELDS = ("costCenter", "owner", "team", "environment", "labels")
"""What a person may write of ``spec.billing``."""


def charged(spec: Json, request: Request, policy: Policy, known: Circumstances) -> Json:
    """The spec with who pays, or as it is where that cannot be said: validation tells why."""
    billing = spec.get("billing") or {}
    if not isinstance(billing, dict):
        return spec
    asked = {key: billing[key] for key in FIELDS if key in billing}
    if request.operation == "CREATE":
        decided = _first(asked, request, policy, known)
    else:
        decided = _next(asked, request, known)
    return {key: value for key, value in spec.items() if key != "billing"} | (
        {"billing": decided} if decided or "billing" in spec else {}
    )


def unrecorded(spec: Json) -> tuple[FieldError, ...]:
    """Refuses a change that would leave too much for the controller to record at once."""
    billing = spec.get("billing") or {}
    if not isinstance(billing, dict) or len(billing.get("superseded", ())) <= SUPERSEDED_MAX:
        return ()
    detail = (
        f"the last {SUPERSEDED_MAX} changes are not recorded yet, for the controller is down; "
        "try again when it runs"
    )
    return (forbidden("spec.billing", detail),)


def source_of(spec: Json) -> str:
    """Where it was taken from who pays; ``Refused`` where it could not be said."""
    billing = spec.get("billing")
    provenance = billing.get("provenance") if isinstance(billing, dict) else None
    return str(provenance["source"]) if provenance else "Refused"


def is_same(asked: Json, old: Json) -> bool:
    """Whether the two say the same of who pays; a field that is empty is one that is not there."""
    return {k: v for k, v in asked.items() if v and k in FIELDS} == {
        k: v for k, v in old.items() if v and k in FIELDS
    }


def _first(asked: Json, request: Request, policy: Policy, known: Circumstances) -> Json:
    try:
        wish = msgspec.convert(asked, Charge)
    except msgspec.ValidationError:
        return asked
    requester = known.requester(request, policy.names)
    found = resolve(known.payers, requester, wish, known.inherited)
    if isinstance(found, Refusal):
        if not known.administrator:
            return asked
        charge, source, group = wish, BillingSource.EXPLICIT, ""
    else:
        charge, source, group = found.charge, found.source, found.group
    provenance = Provenance(
        generation=1,
        effective_at=known.now,
        changed_by=request.user_info.username,
        source=source,
        group=group,
    )
    return written(charge) | {"provenance": msgspec.to_builtins(provenance)}


def _next(asked: Json, request: Request, known: Circumstances) -> Json:
    old = (request.old.get("spec") or {}).get("billing") or {}
    recorded = ((request.old.get("status") or {}).get("recorded") or {}).get("generation", 0)
    waiting = [c for c in old.get("superseded", ()) if _generation(c) > recorded]
    kept = {key: old[key] for key in ("provenance",) if key in old}
    if not is_same(asked, old):
        metadata = request.old.get("metadata") or {}
        if kept and _generation(old) > recorded:
            waiting.append({key: value for key, value in old.items() if key != "superseded"})
        provenance = Provenance(
            generation=metadata.get("generation", 0) + 1,
            effective_at=known.now,
            source=BillingSource.EXPLICIT,
            changed_by=request.user_info.username,
        )
        kept = {"provenance": msgspec.to_builtins(provenance)}
    return asked | kept | ({"superseded": waiting} if waiting else {})


def _generation(charge: Json) -> int:
    generation: int = charge.get("provenance", {}).get("generation", 0)
    return generation


def written(charge: Charge) -> Json:
    """What a person may write of it, as JSON."""
    fields: Json = msgspec.to_builtins(charge)
    return {key: fields[key] for key in FIELDS if key in fields}
