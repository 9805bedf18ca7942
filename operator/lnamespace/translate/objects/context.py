"""The facts about a request by which the values of its objects are translated."""

from dataclasses import dataclass
from functools import cached_property

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.resources import ResourceType

NAMES_OF_AN_OBJECT = 1024
"""The most names that all texts of an object lose the prefix of: 10 ms."""


@dataclass
class RenamingBudget:
    """The number of names of which the texts of one object may still lose the prefix.

    Each text has a bound of its own, and a Deployment may have a thousand conditions, each with a
    text: 300 KB took 8 s at each read.
    """

    names: int = NAMES_OF_AN_OBJECT

    def renew(self) -> None:
        """Begin with another object."""
        self.names = NAMES_OF_AN_OBJECT

    def spend(self, names: int) -> None:
        """Count the names of a text."""
        self.names = max(self.names - names, 0)


@dataclass(frozen=True)
class TranslationContext:
    """The facts about a request that rules use.

    Parameters
    ----------
    resource
        The type of the objects that are translated.
    namespace
        The namespace of the request in upstream spelling; empty if it names none.
    whole
        Whether a body is a whole object; a patch is not.
    repeats
        Whether a key is written twice in the body, for field validation to report.
    """

    view: TenantView
    resource: ResourceType
    namespace: str = ""
    whole: bool = True
    repeats: bool = False

    @cached_property
    def tenant_bytes(self) -> bytes:
        """Return the bytes by which most rules know that they change nothing in a value."""
        return self.view.tenant.encode()

    @cached_property
    def renaming_budget(self) -> RenamingBudget:
        """Return the budget of the object that is being translated."""
        return RenamingBudget()

    @cached_property
    def label_bytes(self) -> bytes:
        """Return the key of the tenant label as it stands in JSON."""
        return self.view.tenant_label.encode()

    @cached_property
    def published(self) -> frozenset[str]:
        """Return the names of the platform's objects of this type that tenants see."""
        if self.resource.namespaced:
            return frozenset()
        return self.view.published.get(self.resource.group_resource, frozenset())
