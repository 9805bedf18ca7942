"""What the door fills in. Pure: from the request to the object as it should be.

On creation: who asked, whom the lists name if they name nobody, who pays. On an update nothing is
filled in anew; what only the door may write is carried over, whatever was sent. It takes objects
that no schema has seen yet: what has not the right shape is left for the schema to refuse.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from lnamespace.admission.decisions.charge import charged, source_of, unrecorded
from lnamespace.admission.decisions.decision import Decision
from lnamespace.admission.decisions.patch import difference
from lnamespace.admission.decisions.policy import Circumstances, Policy
from lnamespace.admission.decisions.review import Request
from lnamespace.model import v1alpha1
from lnamespace.model.conversion import annotation, restored
from lnamespace.model.lnamespace import BILLING_LABELS_MAX, LIST_MAX_ITEMS, BillingSource
from lnamespace.model.rules import member_problem, sudoer_problem
from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX, Member, SubjectKind
from lnamespace.payers.refusals import inherits_not, quoted

LISTS = ("users", "managers", "sudoers")
EDITORS = ("managers", "sudoers")

Json = dict[str, Any]


def mutate(request: Request, policy: Policy, known: Circumstances) -> Decision:
    """The changes to an object that is created or updated."""
    before = request.new
    spec = before.get("spec")
    if _overfull(spec) and not _overfull(request.old.get("spec")):
        return Decision()  # The schema refuses it and says why, in no time.
    if not isinstance(spec, dict) and not (spec is None and request.operation == "CREATE"):
        # Left for the schema to refuse. On an update an absent spec is a slip, not a wish.
        return Decision()
    resolved = ""
    if request.operation == "CREATE":
        after, warnings = _created(spec or {}, request, policy, known)
        resolved = source_of(after)
    elif request.operation == "UPDATE":
        after, warnings = _updated(spec or {}, request, policy, known), ()
    else:
        return Decision()
    wanted = _without_annotation(before, annotation(policy.names)) | {"spec": after}
    return Decision(unrecorded(after), warnings, tuple(difference(before, wanted)), resolved)


def _overfull(spec: object) -> bool:
    """Whether there is more in a list than the schema lets anybody add."""
    if not isinstance(spec, dict):
        return False
    billing = spec.get("billing")
    labels = billing.get("labels") if isinstance(billing, dict) else None
    return _longer(labels, dict, BILLING_LABELS_MAX) or any(
        _longer(spec.get(field), list, LIST_MAX_ITEMS) for field in LISTS
    )


def _longer(value: object, type_: type[Collection[Any]], limit: int) -> bool:
    return isinstance(value, type_) and len(value) > limit


def _created(
    spec: Json, request: Request, policy: Policy, known: Circumstances
) -> tuple[Json, tuple[str, ...]]:
    requester = request.user_info.username
    lists, warnings = _default_lists(spec, requester, policy)
    stamped = {k: v for k, v in spec.items() if k != "countedTo"} | lists | {"requester": requester}
    if known.counted_to:
        stamped["countedTo"] = known.counted_to
    after = charged(stamped, request, policy, known)
    return after, (*warnings, *_of_default(after, request, policy, known))


def _of_default(
    spec: Json, request: Request, policy: Policy, known: Circumstances
) -> tuple[str, ...]:
    """Tell a ServiceAccount that does not inherit who pays instead."""
    if not known.unlisted or source_of(spec) != BillingSource.DEFAULT:
        return ()
    cost_center = spec["billing"]["costCenter"]
    why = inherits_not(known.requester(request, policy.names))
    return (f"charged to {quoted(cost_center)}: {why}",)


def _updated(spec: Json, request: Request, policy: Policy, known: Circumstances) -> Json:
    old = request.old.get("spec") or {}
    if request.sent_version == v1alpha1.VERSION:
        spec = restored(spec, old)
    for field in ("requester", "countedTo"):
        if field in old and field not in spec:
            # `kubectl replace` of the file that it was created from: nobody means to take it away.
            spec = spec | {field: old[field]}
    return charged(spec, request, policy, known)


def _default_lists(
    spec: Json, requester: str, policy: Policy
) -> tuple[dict[str, list[Json]], tuple[str, ...]]:
    """The lists that the requester is put into, and why they could not be."""
    if not any(spec.get(field) for field in LISTS):
        fields = policy.default_lists
    elif not any(spec.get(field) for field in EDITORS):
        fields = ("managers",)
    else:
        return {}, ()
    member = as_member(requester)
    if problem := member_problem(member):
        return {}, (f'"{requester}" is not put into any list: {problem}',)
    entry: Json = msgspec.to_builtins(member)
    return {f: [entry] for f in fields if f != "sudoers" or not sudoer_problem(member)}, ()


def as_member(username: str) -> Member:
    """The entry that stands for an authenticated user."""
    if username.startswith(SERVICE_ACCOUNT_PREFIX):
        namespace, _, name = username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        return Member(name, SubjectKind.SERVICE_ACCOUNT, namespace)
    return Member(username)


def _without_annotation(manifest: Json, key: str) -> Json:
    """Without what conversion carries in v1alpha1 objects: in v1beta1 it has no meaning."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return manifest
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict) or key not in annotations:
        return manifest
    kept = {k: v for k, v in annotations.items() if k != key}
    return manifest | {"metadata": metadata | {"annotations": kept}}
