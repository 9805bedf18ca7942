"""What the door goes by: fixed for the life of the process, but for who pays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from lnamespace.admission.decisions.review import Request
from lnamespace.model.lnamespace import Charge
from lnamespace.model.names import Names
from lnamespace.model.rules import RESERVED_NAMES
from lnamespace.payers.entries import Payers, Requester, requester


@dataclass(frozen=True)
class Policy:
    """The platform team's choices.

    ``default_lists`` are the lists that a requester who names nobody is put into;
    ``never_impersonate`` are the users of whom no impersonator is ever made.
    """

    names: Names
    default_lists: tuple[str, ...] = ("users", "managers", "sudoers")
    never_impersonate: frozenset[str] = frozenset()
    reserved: tuple[str, ...] = RESERVED_NAMES


@dataclass(frozen=True)
class Circumstances:
    """What a decision needs to know besides the review, all of it from outside.

    ``administrator``: the API server found that the caller may ``administer`` LNamespaces.
    ``found``: the caller's groups that a directory knows, None while it is still being asked.
    ``inherited``: what a calling ServiceAccount may charge, for the LNamespace in which it lives
    lists it; ``unlisted`` is the name of one that does not.
    ``counted_to``: to whom it is counted what the caller creates, where that is somebody else; None
    where that could not be found out.
    ``exceeded``: why the caller gets no further LNamespace, as far as is known here; or nothing.
    """

    now: datetime
    payers: Payers
    administrator: bool = False
    found: frozenset[str] | None = frozenset()
    inherited: Charge | None = None
    unlisted: str = ""
    counted_to: str | None = ""
    exceeded: str = ""

    def requester(self, request: Request, names: Names) -> Requester:
        """Who pays is decided by this."""
        user = request.user_info
        found = requester(user.username, user.groups, names, self.found)
        return replace(found, unlisted=self.unlisted)


Clock = Callable[[], datetime]
