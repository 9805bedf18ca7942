"""Limit how many namespaces and CustomResourceDefinitions one LCluster may have.

Each costs the platform's API server memory and watches for as long as it exists, so one tenant
would slow down all others by making them.
"""

from dataclasses import dataclass

from lnamespace.model.lcluster import LCluster
from lnamespace.settings import Settings


@dataclass(frozen=True)
class ContentLimits:
    """The limits of one LCluster; 0 is no limit."""

    namespaces: int = 0
    definitions: int = 0

    def limits_for(self, lcluster: LCluster) -> "ContentLimits":
        """Return the limits of one LCluster: its own, and these where it has none."""
        own = lcluster.spec.limits
        return ContentLimits(
            own.namespaces or self.namespaces,
            own.custom_resource_definitions or self.definitions,
        )


def content_limits(settings: Settings) -> ContentLimits:
    """Return how many Namespaces and definitions the platform allows each LCluster."""
    return ContentLimits(settings.lcluster_namespaces, settings.lcluster_definitions)
