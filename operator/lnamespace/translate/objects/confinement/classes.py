"""Confine PriorityClasses, so that a tenant's pods preempt no others."""

from dataclasses import dataclass
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    ConfinementRule,
    PinnedField,
    RefusingRule,
)

HIGHEST_OF_USERS = 1_000_000_000
_SYSTEM = "system-"


@dataclass(frozen=True)
class PriorityBounds(RefusingRule):
    """The API server's rules for PriorityClasses, by the name that the tenant writes."""

    paths = (("metadata", "name"), ("value",))

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse reserved names and values."""
        if subject.name.startswith(subject.view.prefix + _SYSTEM):
            below = subject.name.removeprefix(subject.view.prefix)
            why = (
                f"priority class names with {_SYSTEM!r} prefix are reserved for system use only."
                f" error: {below} is not a known system priority class"
            )
            raise subject.refuse("metadata.name", why)
        value = subject.body.get("value")
        if isinstance(value, int | float) and value > HIGHEST_OF_USERS:
            why = f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}"
            raise subject.refuse("value", why)


def _within_band(value: Any, view: TenantView) -> Any:
    return min(value, view.allowances.highest_priority) if isinstance(value, int | float) else value


PRIORITY_CLASS_RULES: tuple[ConfinementRule, ...] = (
    PriorityBounds(),
    PinnedField(("value",), _within_band, default=0),
    PinnedField(("preemptionPolicy",), lambda _, __: "Never", default="PreemptLowerPriority"),
    PinnedField(("globalDefault",), lambda _, __: False),
)
