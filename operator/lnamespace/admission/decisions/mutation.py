"""The fields that the webhook fills in.

On creation these are the requester, the lists if they name nobody, and who pays. An update fills in
nothing: it carries over the fields that only the webhook may write, whatever was sent. Mutation
comes before the schema: an object of the wrong shape is left unchanged, for the schema to refuse.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from lnamespace.admission.decisions.charge import backlog_errors, charge_source, with_charge
from lnamespace.admission.decisions.decision import Decision, Policy, ReviewContext
from lnamespace.admission.decisions.patch import json_patch
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.model import v1alpha1
from lnamespace.model.billing import BILLING_LABELS_MAX, BillingSource
from lnamespace.model.conversion import annotation_key, restore_unsupported
from lnamespace.model.lnamespace import LIST_MAX_ITEMS, MEMBER_LISTS
from lnamespace.model.rules import member_problem, sudoer_problem
from lnamespace.model.subject import Member, subject_of_username
from lnamespace.payers.refusals import not_inherited, quoted

EDITORS = ("managers", "sudoers")

Json = dict[str, Any]


def mutate(request: AdmissionRequest, policy: Policy, context: ReviewContext) -> Decision:
    """Return the changes to an object that is created or updated."""
    before = request.new
    spec = before.get("spec")
    if _overfull(spec) and not _overfull(request.old.get("spec")):
        return Decision()  # The schema refuses it and says why, without work for the webhook.
    if not isinstance(spec, dict) and not (spec is None and request.operation == "CREATE"):
        # The schema refuses it. On an update an absent spec is a mistake, not a wish to empty it.
        return Decision()
    source = ""
    if request.operation == "CREATE":
        after, warnings = _created(spec or {}, request, policy, context)
        source = charge_source(after)
    elif request.operation == "UPDATE":
        after, warnings = _updated(spec or {}, request, policy, context), ()
    else:
        return Decision()
    wanted = _without_annotation(before, annotation_key(policy.names)) | {"spec": after}
    return Decision(backlog_errors(after), warnings, tuple(json_patch(before, wanted)), source)


def _overfull(spec: object) -> bool:
    """Return whether a list or the labels are longer than the schema allows."""
    if not isinstance(spec, dict):
        return False
    billing = spec.get("billing")
    labels = billing.get("labels") if isinstance(billing, dict) else None
    return _longer(labels, dict, BILLING_LABELS_MAX) or any(
        _longer(spec.get(field), list, LIST_MAX_ITEMS) for field in MEMBER_LISTS
    )


def _longer(value: object, type_: type[Collection[Any]], limit: int) -> bool:
    return isinstance(value, type_) and len(value) > limit


def _created(
    spec: Json, request: AdmissionRequest, policy: Policy, context: ReviewContext
) -> tuple[Json, tuple[str, ...]]:
    requester = request.user_info.username
    lists, warnings = _default_lists(spec, requester, policy)
    stamped = {k: v for k, v in spec.items() if k != "countedTo"} | lists | {"requester": requester}
    if context.counted_to:
        stamped["countedTo"] = context.counted_to
    after = with_charge(stamped, request, policy, context)
    return after, (*warnings, *_default_charge_warning(after, request, policy, context))


def _default_charge_warning(
    spec: Json, request: AdmissionRequest, policy: Policy, context: ReviewContext
) -> tuple[str, ...]:
    """Warn a ServiceAccount that does not inherit a charge which one it gets instead."""
    if not context.unlisted or charge_source(spec) != BillingSource.DEFAULT:
        return ()
    cost_center = spec["billing"]["costCenter"]
    why = not_inherited(context.requester(request, policy.names))
    return (f"charged to {quoted(cost_center)}: {why}",)


def _updated(spec: Json, request: AdmissionRequest, policy: Policy, context: ReviewContext) -> Json:
    old = request.old.get("spec") or {}
    if request.sent_version == v1alpha1.VERSION:
        spec = restore_unsupported(spec, old)
    for field in ("requester", "countedTo"):
        if field in old and field not in spec:
            # `kubectl replace` with the file that it was created from lacks what we filled in then.
            spec = spec | {field: old[field]}
    return with_charge(spec, request, policy, context)


def _default_lists(
    spec: Json, requester: str, policy: Policy
) -> tuple[dict[str, list[Json]], tuple[str, ...]]:
    """Return the lists with the requester in them, and a warning where that is impossible."""
    if not any(spec.get(field) for field in MEMBER_LISTS):
        fields = policy.default_lists
    elif not any(spec.get(field) for field in EDITORS):
        fields = ("managers",)
    else:
        return {}, ()
    member = member_of_user(requester)
    if problem := member_problem(member):
        return {}, (f'"{requester}" is not put into any list: {problem}',)
    entry: Json = msgspec.to_builtins(member)
    return {f: [entry] for f in fields if f != "sudoers" or not sudoer_problem(member)}, ()


def member_of_user(username: str) -> Member:
    """Return the entry that stands for an authenticated user."""
    subject = subject_of_username(username)
    return Member(subject.name, subject.kind, subject.namespace)


def _without_annotation(manifest: Json, key: str) -> Json:
    """Remove the annotation in which conversion carries v1beta1 fields through v1alpha1."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return manifest
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict) or key not in annotations:
        return manifest
    kept = {k: v for k, v in annotations.items() if k != key}
    return manifest | {"metadata": metadata | {"annotations": kept}}
