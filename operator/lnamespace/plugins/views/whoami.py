"""`kubectl lns whoami`: the user of the caller, and their choices for a new LNamespace.

Only the platform team may read the default payers and the profiles. So the choices are found by dry
runs of a creation, which the API server checks and does not store.
"""

from __future__ import annotations

import os

from lnamespace.plugins.cluster.kubectl import Kubectl
from lnamespace.plugins.model.api_group import api_version, group
from lnamespace.plugins.model.lnamespaces import LNAMESPACE, collection
from lnamespace.plugins.runtime.documents import loads
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import Arguments, one_of
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple
from lnamespace.plugins.views.listing import answered, ask, items_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from lnamespace.plugins.cluster.kubectl import Call, Reply
    from lnamespace.plugins.model.lnamespaces import Object
    from lnamespace.plugins.model.subjects import Caller

RULES_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
DEFAULT_PROFILE = "default"  # everybody's, without a right of its own
CHOICE = "  costCenter: "  # begins a line of the webhook's refusal, a JSON string behind it
PROFILES = "; there are: "  # in the refusal of a profile, names behind it
NO_PROFILES = "none"
EVERYTHING = "*"
ANSWERS = ("(Forbidden)", "(Invalid)", " is invalid: ")  # in refusals; all else says nothing


class Choices(NamedTuple):
    """The possible choices: names, or any; ``default`` is used if the caller names none.

    ``problem`` is why nothing may be chosen, in the words of the API server; ``unknown`` if that is
    why it did not say.
    """

    names: tuple[str, ...] = ()
    anything: bool = False
    default: str = ""
    problem: str = ""
    unknown: bool = False

    @property
    def shown(self) -> str:
        """Return the choices as a person reads them."""
        shown = [f"{n} (if you name none)" if n == self.default else n for n in self.names]
        if self.anything:
            shown.append("any other" if shown else "any")
        nothing = "<unknown>" if self.unknown else "<none>"
        return ", ".join(shown) or f"{nothing}{self.problem and f' ({self.problem})'}"


class Questions(NamedTuple):
    """The requests, all sent at the same time."""

    plain: Call
    other_cost_center: Call
    other_profile: Call
    rules: Call


def show_caller(arguments: Arguments) -> int:
    """Show the caller as the API server authenticated them, and their choices."""
    if len(arguments.words) > 1:
        raise UsageError("whoami takes no arguments")
    output = one_of(arguments, "output", ("json", "yaml", ""), "")
    asked, questions = ask(arguments), _asked(Kubectl(arguments.connection))
    from datetime import UTC, datetime

    from lnamespace.plugins.runtime.terminal import printable, say
    from lnamespace.plugins.views.rows import chosen, table

    me, listed = answered(arguments, asked)
    plain, other, profile, rules = (question.reply() for question in questions)
    pays, profiles = cost_centers(plain, other), open_profiles(profile, rules)
    mine = chosen(arguments, items_of(listed), me)
    if output:
        from lnamespace.plugins.runtime.output import formatted

        print(formatted(_document(me, pays, profiles, mine), output), end="")
        return 0
    print(f"Username:   {printable(me.username)}")
    print(f"Groups:     {printable(', '.join(me.groups)) or '<none>'}")
    print(f"Written as: {printable(me.identity.spelling)}")
    print(f"May charge: {printable(pays.shown)}")
    print(f"Profiles:   {printable(profiles.shown)}")
    print()
    if mine:
        print(table(mine, me, datetime.now(UTC), wide=False), end="")
    else:
        say("No lnamespaces found.")
    return 0


def _asked(kubectl: Kubectl) -> Questions:
    """Start the dry runs, and the review of the caller's rights.

    One uses a cost centre and one a profile that cannot exist: the refusals list the caller's cost
    centres and all profiles. The name is random, so that nobody can create it before.
    """
    nothing = f"whoami-{os.urandom(6).hex()}"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    return Questions(
        _creation(kubectl, nothing, {}),
        _creation(kubectl, nothing, {"billing": {"costCenter": nothing}}),
        _creation(kubectl, nothing, {"profile": nothing}),
        kubectl.start_raw("create", RULES_REVIEWS, review),
    )


def _creation(kubectl: Kubectl, name: str, spec: Object) -> Call:
    lns = {
        "apiVersion": api_version(),
        "kind": LNAMESPACE.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    return kubectl.start_raw("create", f"{collection()}?dryRun=All", lns)


def cost_centers(plain: Reply, other: Reply) -> Choices:
    """Return the cost centres that the caller may charge.

    ``plain`` answers a creation without a cost centre, ``other`` one with a cost centre that does
    not exist: its refusal lists the caller's. A caller who may charge any is not refused.
    """
    default = ""
    if not plain.code:
        billing = plain.document().get("spec", {}).get("billing") or {}
        default = str(billing.get("costCenter") or "")
    names = [default] if default else []
    for message in (plain.err, other.err):
        names += [name for name in _listed(message) if name not in names]
    problem = plain.err.strip().partition("\n")[0] if plain.code else ""
    return Choices(
        tuple(names), not other.code, default, "" if names else problem, _is_unanswered(plain)
    )


def _is_unanswered(reply: Reply) -> bool:
    return bool(reply.code) and not any(words in reply.err for words in ANSWERS)


def _listed(message: str) -> Iterator[str]:
    for line in message.splitlines():
        if line.startswith(CHOICE):
            try:
                yield str(loads(line.removeprefix(CHOICE).partition("  or  ")[0]))
            except ValueError:  # such as one that was shortened
                continue


def open_profiles(other: Reply, rules: Reply) -> Choices:
    """Return the profiles that the caller may choose.

    ``other`` answers a creation with a profile that does not exist: its refusal lists the existing
    ones, unless the creation was refused for another reason.
    """
    allowed = set().union(*_usable(rules))
    known = _known(other.err)
    if known is None:
        names = sorted({DEFAULT_PROFILE, *allowed} - {EVERYTHING}) if allowed else []
        return Choices(tuple(names), EVERYTHING in allowed, unknown=_is_unanswered(other))
    free = {DEFAULT_PROFILE} | (set(known) if EVERYTHING in allowed else allowed)
    default = DEFAULT_PROFILE if DEFAULT_PROFILE in known else ""
    return Choices(tuple(name for name in known if name in free), default=default)


def _known(message: str) -> list[str] | None:
    _, found, names = message.partition(PROFILES)
    if not found:
        return None
    return [name for name in names.split("\n")[0].strip().split(", ") if name != NO_PROFILES]


def _usable(rules: Reply) -> Iterator[set[str]]:
    """Yield the names of profiles that each rule lets the caller use."""
    status: dict[str, Any] = {} if rules.code else rules.document().get("status") or {}
    for rule in status.get("resourceRules") or ():
        matches = (
            {"use", EVERYTHING} & set(rule.get("verbs") or ()),
            {group(), EVERYTHING} & set(rule.get("apiGroups") or ()),
            {"profiles", EVERYTHING} & set(rule.get("resources") or ()),
        )
        if all(matches):
            yield set(rule.get("resourceNames") or (EVERYTHING,))


def _document(me: Caller, pays: Choices, profiles: Choices, mine: list[Object]) -> Object:
    """Return all that is known, for programs."""
    from lnamespace.plugins.views.rows import whole

    return {
        "username": me.username,
        "groups": list(me.groups),
        "writtenAs": me.identity.spelling,
        "costCenters": _fields(pays),
        "profiles": _fields(profiles),
        "lnamespaces": whole(mine)["items"],
    }


def _fields(choices: Choices) -> dict[str, object]:
    return {"names": list(choices.names), "anything": choices.anything, "default": choices.default}
