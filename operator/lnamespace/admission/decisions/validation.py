"""What the door refuses: all that is wrong at once, each with the path of its field. Pure.

The rules of the CustomResourceDefinition come first, in the API server itself; here is what needs
to know the caller, the time or the old object, and those rules once more, for the day somebody
loosens the definition. An entry that was there before is never complained of again: an
LNamespace that an older rule let in must stay repairable. Deletions never come here.
"""

from collections.abc import Callable, Iterator

import msgspec

from lnamespace.access.entries import entries
from lnamespace.admission.decisions.bounds import endless, sizes, texts
from lnamespace.admission.decisions.decision import Decision
from lnamespace.admission.decisions.fields import FieldError, forbidden, invalid, required, too_long
from lnamespace.admission.decisions.mutation import LISTS
from lnamespace.admission.decisions.policy import Circumstances, Policy
from lnamespace.admission.decisions.review import Request
from lnamespace.admission.decisions.warnings import farewell, warnings
from lnamespace.model.conversion import ANNOTATIONS_MAX, room
from lnamespace.model.lnamespace import LNamespace, Spec
from lnamespace.model.rules import member_problem, name_problem, sudoer_problem
from lnamespace.model.subject import Member, Subject, SubjectKind
from lnamespace.payers.resolution import Refusal, entitled, resolve


def validate(request: Request, policy: Policy, known: Circumstances) -> Decision:
    """Judge an object that is created or updated."""
    if request.operation not in ("CREATE", "UPDATE"):
        return Decision()
    if errors := tuple(endless(request)):
        return Decision(errors)
    try:
        new = msgspec.convert(request.new, LNamespace)
    except msgspec.ValidationError as error:
        return Decision((_unreadable(error),))
    before = _spec_before(request)
    limit = tuple(_limit(request, known))
    errors = (
        *limit,
        *_name(new, request, policy),
        *_requester(new.spec, before, request, policy),
        *_account(new.spec, before, request, known),
        *_members(new.spec, before),
        *_editors(new, policy, known),
        *sizes(new.spec, before, request),
        *texts(new.spec.billing, before.billing),
        *_room(request, policy),
        *_billing(new.spec, before, request, policy, known),
    )
    told = (
        *warnings(new, before, policy, known.now),
        *farewell(new.spec, before, request.user_info, known.now),
    )
    return Decision(errors, told, exceeded=bool(limit))


def _spec_before(request: Request) -> Spec:
    """Return the spec as it is, without the fields that cannot be read; empty for a creation.

    Were all of it empty then, what never changes would seem to be changed by whoever repairs it.
    """
    spec = request.old.get("spec")
    fields = spec if isinstance(spec, dict) else {}
    readable = {key: value for key, value in fields.items() if _is_readable(key, value)}
    return msgspec.convert(readable, Spec)


def _is_readable(key: str, value: object) -> bool:
    try:
        msgspec.convert({key: value}, Spec)
    except msgspec.ValidationError:
        return False
    return True


def _unreadable(error: msgspec.ValidationError) -> FieldError:
    text, _, path = str(error).rpartition(" - at `$")
    return invalid(path.strip("`.") or "spec", None, text or str(error))


def _limit(request: Request, known: Circumstances) -> Iterator[FieldError]:
    if request.operation == "CREATE" and known.exceeded:
        yield forbidden("spec.requester", known.exceeded)


def _name(new: LNamespace, request: Request, policy: Policy) -> Iterator[FieldError]:
    problem = name_problem(new.name, policy.reserved)
    if problem and request.operation == "CREATE":
        yield invalid("metadata.name", new.name, problem)


def _requester(new: Spec, before: Spec, request: Request, policy: Policy) -> Iterator[FieldError]:
    path = "spec.requester"
    if request.operation == "UPDATE":
        if new.requester != before.requester:
            yield invalid(path, new.requester, "field is immutable")
    elif new.requester != request.user_info.username:
        yield invalid(path, new.requester, "must be who creates it: leave it out")
    elif policy.names.is_sudo_account(new.requester):
        yield invalid(path, new.requester, "is nobody: create it as yourself, without sudo")


def _account(
    new: Spec, before: Spec, request: Request, known: Circumstances
) -> Iterator[FieldError]:
    path = "spec.countedTo"
    if request.operation == "UPDATE":
        if new.counted_to != before.counted_to:
            yield invalid(path, new.counted_to, "field is immutable")
    elif known.counted_to is None:
        yield forbidden(path, "it cannot be found out now to whom this is counted: try again")
    elif new.counted_to != known.counted_to:
        yield invalid(path, new.counted_to, "is written by the webhook: leave it out")


def _members(new: Spec, before: Spec) -> Iterator[FieldError]:
    checks: dict[str, Callable[[Member], str | None]] = {"sudoers": sudoer_problem}
    for field in LISTS:
        check = checks.get(field, member_problem)
        known = set(getattr(before, field))
        for index, member in enumerate(getattr(new, field)):
            if member not in known and (problem := check(member)):
                yield invalid(f"spec.{field}[{index}].name", member.name, problem)


def _editors(new: LNamespace, policy: Policy, known: Circumstances) -> Iterator[FieldError]:
    """Nobody leaves an LNamespace that nobody can edit, but who can mend it.

    It does not matter who was there before: an entry that has just expired is no editor either,
    nor is the sudoers' own group or account, which without sudoers is nobody, nor a sudoer who
    never can.
    """
    current = entries(new.spec, known.now)
    names = policy.names
    group = Subject(SubjectKind.GROUP, names.sudoers_group(new.name))
    nobody = {group, names.sudo_account(new.name)}
    sudoers = {s for s in current.sudoers if s.username not in policy.never_impersonate} - nobody
    if not known.administrator and not sudoers and set(current.managers) <= nobody:
        yield required(
            "spec.managers",
            "somebody must be able to edit it: name a manager or a sudoer whose entry has not "
            "expired",
        )


def _room(request: Request, policy: Policy) -> Iterator[FieldError]:
    """Nobody makes an object that one of the versions cannot show: all lists would fail in it."""
    missing = -room(request.new, policy.names)
    if missing > 0:
        yield too_long(
            "metadata.annotations",
            f"together with what spec says and v1alpha1 cannot, they may not have more than "
            f"{ANNOTATIONS_MAX} bytes, and have {missing} more",
        )


def _billing(
    new: Spec, before: Spec, request: Request, policy: Policy, known: Circumstances
) -> Iterator[FieldError]:
    if known.administrator:
        if before.billing.cost_center and not new.billing.cost_center:
            yield required("spec.billing.costCenter", "somebody must pay: write who does")
        return
    requester = known.requester(request, policy.names)
    if request.operation == "UPDATE":
        refusal = entitled(known.payers, requester, before.billing, new.billing, known.inherited)
    elif _is_stamped(new, request):
        return
    else:
        # Mutation leaves alone what it cannot resolve, so that the reason is told with the rest.
        found = resolve(known.payers, requester, new.billing, known.inherited)
        refusal = found if isinstance(found, Refusal) else _RACED
    if refusal:
        error = required if refusal.missing else forbidden
        yield error(refusal.field, refusal.message)


def _is_stamped(new: Spec, request: Request) -> bool:
    stamp = new.billing.provenance
    return stamp is not msgspec.UNSET and stamp.changed_by == request.user_info.username


_RACED = Refusal("who pays by default has just been changed: try again", "spec.billing")
