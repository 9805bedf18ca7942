"""Who pays, as the webhook writes it into the spec: resolved once, with its source.

A charge that the controller has not recorded for the ledger yet is kept beside the charge that
replaces it, in the same write: no change is lost while the controller is down
(docs/decisions/0013-outbox.md).
"""

from typing import Any

import msgspec

from lnamespace.admission.decisions.decision import Policy, ReviewContext
from lnamespace.admission.decisions.fields import FieldError, forbidden
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.model import lcluster
from lnamespace.model.billing import (
    BILLING_TEXTS,
    SUPERSEDED_MAX,
    BillingSource,
    Charge,
    Provenance,
)
from lnamespace.payers.resolution import BillingRefusal, resolve

Json = dict[str, Any]

FIELDS = (*BILLING_TEXTS, "labels")
"""The fields of ``spec.billing`` that a person may write."""


def with_charge(
    spec: Json, request: AdmissionRequest, policy: Policy, context: ReviewContext
) -> Json:
    """Return the spec with its payer; unchanged if there is none, so that validation refuses it."""
    billing = spec.get("billing") or {}
    if not isinstance(billing, dict):
        return spec
    asked = {key: billing[key] for key in FIELDS if key in billing}
    if request.operation == "CREATE":
        decided = _charge_of_new(asked, request, policy, context)
    else:
        decided = _charge_of_update(asked, request, context)
    return {key: value for key, value in spec.items() if key != "billing"} | (
        {"billing": decided} if decided or "billing" in spec else {}
    )


def backlog_errors(spec: Json) -> tuple[FieldError, ...]:
    """Refuse a change that would leave more charges than the controller can record at once."""
    billing = spec.get("billing") or {}
    if not isinstance(billing, dict) or len(billing.get("superseded", ())) <= SUPERSEDED_MAX:
        return ()
    detail = (
        f"the last {SUPERSEDED_MAX} changes are not recorded yet, for the controller is down; "
        "try again when it runs"
    )
    return (forbidden("spec.billing", detail),)


def charge_source(spec: Json) -> str:
    """Return the source of the charge (a ``BillingSource``); ``Refused`` if none was resolved."""
    billing = spec.get("billing")
    provenance = billing.get("provenance") if isinstance(billing, dict) else None
    return str(provenance["source"]) if provenance else "Refused"


def is_same_charge(asked: Json, old: Json) -> bool:
    """Return whether two charges are the same; an empty field is one that is not there."""
    return {k: v for k, v in asked.items() if v and k in FIELDS} == {
        k: v for k, v in old.items() if v and k in FIELDS
    }


def _charge_of_new(
    asked: Json, request: AdmissionRequest, policy: Policy, context: ReviewContext
) -> Json:
    try:
        wish = msgspec.convert(asked, Charge)
    except msgspec.ValidationError:
        return asked
    requester = context.requester(request, policy.names)
    found = resolve(context.payers, requester, wish, context.inherited)
    if isinstance(found, BillingRefusal):
        if not context.administrator:
            return asked
        charge, source, group = wish, BillingSource.EXPLICIT, ""
    else:
        charge, source, group = found.charge, found.source, found.group
    provenance = Provenance(
        generation=1,
        effective_at=context.now,
        changed_by=request.user_info.username,
        source=source,
        group=group,
    )
    return charge_fields(charge) | {"provenance": msgspec.to_builtins(provenance)}


def _charge_of_update(asked: Json, request: AdmissionRequest, context: ReviewContext) -> Json:
    old = (request.old.get("spec") or {}).get("billing") or {}
    recorded = _recorded(request)
    waiting = [c for c in old.get("superseded", ()) if _generation(c) > recorded]
    kept = {key: old[key] for key in ("provenance",) if key in old}
    if not is_same_charge(asked, old):
        metadata = request.old.get("metadata") or {}
        if kept and _generation(old) > recorded:
            waiting.append({key: value for key, value in old.items() if key != "superseded"})
        provenance = Provenance(
            generation=metadata.get("generation", 0) + 1,
            effective_at=context.now,
            source=BillingSource.EXPLICIT,
            changed_by=request.user_info.username,
        )
        kept = {"provenance": msgspec.to_builtins(provenance)}
    return asked | kept | ({"superseded": waiting} if waiting else {})


def _recorded(request: AdmissionRequest) -> int:
    """Return the generation up to which no namespace needs a charge any more.

    The last recorded charge of an LCluster is still that of a namespace which the controller has
    not seen: one was made while it was away, before a change, and nobody paid until the change.
    """
    recorded: int = ((request.old.get("status") or {}).get("recorded") or {}).get("generation", 0)
    return recorded - 1 if request.kind.kind == lcluster.KIND else recorded


def _generation(charge: Json) -> int:
    generation: int = charge.get("provenance", {}).get("generation", 0)
    return generation


def charge_fields(charge: Charge) -> Json:
    """Return the fields of a charge that a person may write, as JSON."""
    fields: Json = msgspec.to_builtins(charge)
    return {key: fields[key] for key in FIELDS if key in fields}
