"""What the door makes of a request: one value for mutation and validation."""

from dataclasses import dataclass

from lnamespace.admission.decisions.fields import FieldError
from lnamespace.admission.decisions.patch import Operation


@dataclass(frozen=True)
class Decision:
    """What is wrong, which refuses the request; what to change; what the person should know.

    ``resolved`` is where it was taken from who pays, for a creation that was filled in;
    ``exceeded``: it is refused for the limit of LNamespaces.
    """

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[Operation, ...] = ()
    resolved: str = ""
    exceeded: bool = False
