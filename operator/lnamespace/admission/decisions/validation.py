"""The errors of an LNamespace or LCluster, all at once, each with the path of its field.

The API server has applied the rules of the CustomResourceDefinition already. Here are the rules
that depend on the caller, the time or the old object, and those of the definition once more, for
a cluster on which somebody has loosened it. An entry that was there before is accepted again: an
LNamespace from before a rule must stay repairable. Deletions are never validated.
"""

from collections.abc import Callable, Iterator

import msgspec

from lnamespace.admission.decisions.bounds import null_expiry_errors, size_errors, text_errors
from lnamespace.admission.decisions.decision import Decision, Policy, ReviewContext
from lnamespace.admission.decisions.editors import Editors
from lnamespace.admission.decisions.fields import FieldError, forbidden, invalid, required, too_long
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.admission.decisions.warnings import (
    creation_warning,
    editor_warnings,
    entry_warnings,
)
from lnamespace.model import lcluster
from lnamespace.model.conversion import ANNOTATIONS_MAX, free_annotation_bytes
from lnamespace.model.lcluster import LCluster, tenant_name_problem
from lnamespace.model.lnamespace import MEMBER_LISTS, CommonSpec, LNamespace, Spec
from lnamespace.model.rules import member_problem, name_problem, sudoer_problem
from lnamespace.model.subject import Member, Subject, SubjectKind
from lnamespace.payers.resolution import BillingRefusal, check_change, resolve


def validate(request: AdmissionRequest, policy: Policy, context: ReviewContext) -> Decision:
    """Return the errors and warnings of an object that is created or updated."""
    if request.operation not in ("CREATE", "UPDATE"):
        return Decision()
    if errors := tuple(null_expiry_errors(request)):
        return Decision(errors)
    try:
        new = _decoded(request)
    except msgspec.ValidationError as error:
        return Decision((_decoding_error(error),))
    before = _spec_before(request)
    editors = Editors.at(new.spec, context.now)
    limit = tuple(_limit_errors(request, context))
    errors = (
        *limit,
        *_name_errors(new, request, context),
        *_requester_errors(new.spec, before, request, policy),
        *_account_errors(new.spec, before, request, context),
        *_member_errors(new.spec, before),
        *_editor_errors(new, editors, policy, context),
        *size_errors(new.spec, before, request),
        *text_errors(new.spec.billing, before.billing),
        *(_conversion_errors(request, policy) if isinstance(new, LNamespace) else ()),
        *_billing_errors(new.spec, before, request, policy, context),
    )
    warnings = (
        *entry_warnings(new, before, policy, context.now),
        *_editor_warnings(new.spec, before, editors, request, context),
    )
    return Decision(errors, warnings, limit_exceeded=bool(limit))


def _decoded(request: AdmissionRequest) -> LNamespace | LCluster:
    if request.kind.kind == lcluster.KIND:
        return msgspec.convert(request.new, LCluster)
    return msgspec.convert(request.new, LNamespace)


def _spec_before(request: AdmissionRequest) -> Spec:
    """Return the old spec without the fields that cannot be decoded; empty for a creation.

    One undecodable field must not empty the others: the requester, say, would seem to be changed
    by the update that repairs that field, which would be refused for it.
    """
    spec = request.old.get("spec")
    fields = spec if isinstance(spec, dict) else {}
    try:
        return msgspec.convert(fields, Spec)
    except msgspec.ValidationError:
        decodable = {key: value for key, value in fields.items() if _is_decodable(key, value)}
        return msgspec.convert(decodable, Spec)


def _is_decodable(key: str, value: object) -> bool:
    try:
        msgspec.convert({key: value}, Spec)
    except msgspec.ValidationError:
        return False
    return True


def _decoding_error(error: msgspec.ValidationError) -> FieldError:
    text, _, path = str(error).rpartition(" - at `$")
    return invalid(path.strip("`.") or "spec", None, text or str(error))


def _limit_errors(request: AdmissionRequest, context: ReviewContext) -> Iterator[FieldError]:
    if request.operation == "CREATE" and context.limit_exceeded:
        yield forbidden("spec.requester", context.limit_exceeded)


def _name_errors(
    new: LNamespace | LCluster, request: AdmissionRequest, context: ReviewContext
) -> Iterator[FieldError]:
    problem_of = tenant_name_problem if isinstance(new, LCluster) else name_problem
    problem = problem_of(new.name) or context.name_conflict
    if problem and request.operation == "CREATE":
        yield invalid("metadata.name", new.name, problem)


def _requester_errors(
    new: CommonSpec, before: Spec, request: AdmissionRequest, policy: Policy
) -> Iterator[FieldError]:
    path = "spec.requester"
    if request.operation == "UPDATE":
        if new.requester != before.requester:
            yield invalid(path, new.requester, "field is immutable")
    elif new.requester != request.user_info.username:
        yield invalid(path, new.requester, "must be who creates it: leave it out")
    elif policy.names.is_sudo_account(new.requester):
        yield invalid(path, new.requester, "is nobody: create it as yourself, without sudo")


def _account_errors(
    new: CommonSpec, before: Spec, request: AdmissionRequest, context: ReviewContext
) -> Iterator[FieldError]:
    path = "spec.countedTo"
    if request.operation == "UPDATE":
        if new.counted_to != before.counted_to:
            yield invalid(path, new.counted_to, "field is immutable")
    elif context.counted_to is None:
        yield forbidden(path, "it cannot be found out now to whom this is counted: try again")
    elif new.counted_to != context.counted_to:
        yield invalid(path, new.counted_to, "is written by the webhook: leave it out")


def _member_errors(new: CommonSpec, before: Spec) -> Iterator[FieldError]:
    checks: dict[str, Callable[[Member], str | None]] = {"sudoers": sudoer_problem}
    for field in MEMBER_LISTS:
        check = checks.get(field, member_problem)
        listed_before = set(getattr(before, field))
        for index, member in enumerate(getattr(new, field)):
            if member not in listed_before and (problem := check(member)):
                yield invalid(f"spec.{field}[{index}].name", member.name, problem)


def _editor_errors(
    new: LNamespace | LCluster, editors: Editors, policy: Policy, context: ReviewContext
) -> Iterator[FieldError]:
    """Refuse an LNamespace that nobody could edit, unless an administrator writes it.

    The old object does not matter here: an entry that has just expired is no editor either. Nor
    is the sudoers' own group or ServiceAccount, which has no members without sudoers, nor a
    sudoer whom nobody may impersonate.
    """
    names = policy.names
    group = Subject(SubjectKind.GROUP, names.sudoers_group(new.name))
    nobody = {group, names.sudo_account(new.name)}
    sudoers = {s for s in editors.sudoers if s.username not in policy.never_impersonate} - nobody
    if not context.administrator and not sudoers and editors.managers <= nobody:
        yield required(
            "spec.managers",
            "somebody must be able to edit it: name a manager or a sudoer whose entry has not "
            "expired",
        )


def _editor_warnings(
    new: CommonSpec,
    before: Spec,
    editors: Editors,
    request: AdmissionRequest,
    context: ReviewContext,
) -> Iterator[str]:
    if request.operation == "CREATE" and not context.administrator:
        yield from creation_warning(editors, request.user_info)
    # Most updates change neither list, and the entries of the old spec need not be looked at.
    if (new.managers, new.sudoers) != (before.managers, before.sudoers):
        editors_before = Editors.at(before, context.now)
        yield from editor_warnings(editors, editors_before, request.user_info)


def _conversion_errors(request: AdmissionRequest, policy: Policy) -> Iterator[FieldError]:
    """Refuse an object that cannot be converted to v1alpha1: every list in it would fail."""
    missing = -free_annotation_bytes(request.new, policy.names)
    if missing > 0:
        yield too_long(
            "metadata.annotations",
            f"together with what spec says and v1alpha1 cannot, they may not have more than "
            f"{ANNOTATIONS_MAX} bytes, and have {missing} more",
        )


def _billing_errors(
    new: CommonSpec, before: Spec, request: AdmissionRequest, policy: Policy, context: ReviewContext
) -> Iterator[FieldError]:
    if context.administrator:
        if before.billing.cost_center and not new.billing.cost_center:
            yield required("spec.billing.costCenter", "somebody must pay: write who does")
        return
    requester = context.requester(request, policy.names)
    if request.operation == "UPDATE":
        refusal = check_change(
            context.payers, requester, before.billing, new.billing, context.inherited
        )
    elif _is_stamped(new, request):
        return
    else:
        # Mutation leaves out a charge that it cannot resolve; here the reason joins the others.
        found = resolve(context.payers, requester, new.billing, context.inherited)
        refusal = found if isinstance(found, BillingRefusal) else _RACED
    if refusal:
        error = required if refusal.missing else forbidden
        yield error(refusal.field, refusal.message)


def _is_stamped(new: CommonSpec, request: AdmissionRequest) -> bool:
    stamp = new.billing.provenance
    return stamp is not msgspec.UNSET and stamp.changed_by == request.user_info.username


_RACED = BillingRefusal("who pays by default has just been changed: try again", "spec.billing")
