"""Parse the API server's refusals of objects that exceed the share of a namespace. Pure."""

import re
from dataclasses import dataclass

from lnamespace.model.names import SHARE_QUOTA
from lnamespace.model.quantities import Amounts, parse_amounts

REFUSAL_REASON = "FailedCreate"
"""The reason of the Events of Kubernetes' controllers about objects that they cannot create."""

REQUEST_COMPONENT = "lcluster-gateway"
"""The source of such Events of the gateway, which repeats them while a request waits."""
_LONGEST = 4096
"""Characters of a refusal. Tenants write such texts too, of any length."""

_EXCEEDED = f"exceeded quota: {SHARE_QUOTA}"
_WAITS = "waits until this namespace has a larger share of the total"
_REFUSAL = re.compile(
    rf"(?:{_EXCEEDED}|{_WAITS}), requested: (\S+), used: (\S+), (?:limited|share): (\S+)"
)


@dataclass(frozen=True)
class ShareRefusal:
    """The amounts requested and used of each resource of which the share is too small."""

    requested: Amounts
    used: Amounts

    @property
    def wanted(self) -> dict[str, int]:
        """Return the limits with which it would not have been refused."""
        found = self.requested.items()
        return {each: amount + self.used[each] for each, amount in found if each in self.used}


def waiting_message(message: str) -> str:
    """Return the refusal by a share's ResourceQuota as the message of a request that waits.

    The reader of the Event may have had the answer that the object was created.
    """
    waits = message.replace(f"is forbidden: {_EXCEEDED}", _WAITS).replace(_EXCEEDED, _WAITS)
    return waits.replace(", limited: ", ", share: ")


def read_refusal(message: str) -> ShareRefusal | None:
    """Parse the refusal of a share's ResourceQuota, or the words of a request that waits for it.

    None if the message is about something else.
    """
    found = _REFUSAL.search(message) if len(message) <= _LONGEST else None
    if found is None:
        return None
    requested, used, _ = (parse_amounts(_pairs(text)) for text in found.groups())
    return ShareRefusal(requested, used)


def _pairs(text: str) -> dict[str, str]:
    pairs = (each.partition("=") for each in text.rstrip(",").split(","))
    return {name: quantity for name, _, quantity in pairs}
