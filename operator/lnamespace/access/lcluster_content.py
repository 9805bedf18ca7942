"""Limit how much one LCluster may have of what costs all others.

Each namespace and CustomResourceDefinition costs the platform's API server memory and watches for
as long as it exists; webhooks, admission policies and ClusterRoleBindings cost it time in requests
of everybody. So one tenant could slow down all others.
"""

from dataclasses import dataclass

from lnamespace.model.lcluster import LCluster
from lnamespace.settings import Settings


@dataclass(frozen=True)
class ContentLimits:
    """The limits of one LCluster; 0 is no limit."""

    namespaces: int = 0
    definitions: int = 0
    admission: int = 0
    bindings: int = 0

    def limits_for(self, lcluster: LCluster) -> "ContentLimits":
        """Return the limits of one LCluster: its own, and these where it has none."""
        own = lcluster.spec.limits
        return ContentLimits(
            own.namespaces or self.namespaces,
            own.custom_resource_definitions or self.definitions,
            own.admission or self.admission,
            own.cluster_role_bindings or self.bindings,
        )


def content_limits(settings: Settings) -> ContentLimits:
    """Return how much the platform allows each LCluster."""
    return ContentLimits(
        settings.lcluster_namespaces,
        settings.lcluster_definitions,
        settings.lcluster_admission,
        settings.lcluster_cluster_role_bindings,
    )
