"""The result of mutation and of validation."""

from dataclasses import dataclass

from lnamespace.admission.decisions.fields import FieldError
from lnamespace.admission.decisions.patch import PatchOperation


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
