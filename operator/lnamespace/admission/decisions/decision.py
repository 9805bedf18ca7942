"""The result of mutation and of validation, and what they are based on besides the request."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from lnamespace.admission.decisions.fields import FieldError
from lnamespace.admission.decisions.patch import PatchOperation
from lnamespace.admission.decisions.review import AdmissionRequest
from lnamespace.model.billing import Charge
from lnamespace.model.lnamespace import MEMBER_LISTS
from lnamespace.model.names import Names
from lnamespace.payers.entries import Payers, Requester, requester_of


@dataclass(frozen=True)
class Decision:
    """The answer to an admission request; any error refuses the request.

    Parameters
    ----------
    charge_source
        The source of the charge (a ``BillingSource``; ``Refused`` if none could be resolved) of a
        creation that mutation filled in; else empty.
    limit_exceeded
        Whether the limit of LNamespaces is among the errors.
    """

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[PatchOperation, ...] = ()
    charge_source: str = ""
    limit_exceeded: bool = False


Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Policy:
    """The platform team's options, which are fixed for the life of the process.

    Parameters
    ----------
    default_lists
        The lists that a requester is put into whose LNamespace names nobody.
    never_impersonate
        The users for whom no impersonator is ever made.
    """

    names: Names
    default_lists: tuple[str, ...] = MEMBER_LISTS
    never_impersonate: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReviewContext:
    """The inputs of one review besides the request: the time, the default payer, the caller.

    Parameters
    ----------
    administrator
        Whether the API server found that the caller may ``administer`` LNamespaces.
    directory_groups
        The groups of the caller that a directory knows; None while it is still being asked.
    inherited
        The charge that a calling ServiceAccount may use, since the LNamespace in which it lives
        lists it.
    unlisted
        The name of the LNamespace in which a calling ServiceAccount lives, if it does not list it.
    counted_to
        The account to which an LNamespace of the caller counts, where that is not the caller
        (empty); None where it could not be found out.
    limit_exceeded
        Why the caller gets no further LNamespace; empty where nothing is known against it.
    name_conflict
        Which name stands against the one that a new object has; empty where none is known.
    """

    now: datetime
    payers: Payers
    administrator: bool = False
    directory_groups: frozenset[str] | None = frozenset()
    inherited: Charge | None = None
    unlisted: str = ""
    counted_to: str | None = ""
    limit_exceeded: str = ""
    name_conflict: str = ""

    def requester(self, request: AdmissionRequest, names: Names) -> Requester:
        """Return the caller as the rules of who pays see them."""
        user = request.user_info
        found = requester_of(user.username, user.groups, names, self.directory_groups)
        return replace(found, unlisted=self.unlisted)
