"""The reflectors that keep the caches of LClusters current."""

from collections.abc import Callable
from functools import partial

from lnamespace.access.conventions import Conventions, lcluster_resource
from lnamespace.controller.lclusters.cache import LClusterCache
from lnamespace.controller.lclusters.definitions import CachedDefinition, read_definition
from lnamespace.controller.lclusters.resource import CachedLCluster, read_lcluster
from lnamespace.controller.lclusters.share_quotas import CachedShareQuota, read_share_quota
from lnamespace.kube.client import Client
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION, RESOURCE_QUOTA
from lnamespace.model.names import SHARE_QUOTA

LClusterReflector = (
    Reflector[CachedLCluster] | Reflector[CachedDefinition] | Reflector[CachedShareQuota]
)


def lcluster_reflectors(
    client: Client,
    cache: LClusterCache,
    conventions: Conventions,
    failed: Callable[[str], object],
    recovered: Callable[[], object],
) -> list[LClusterReflector]:
    """Return the reflectors of LClusters, their CustomResourceDefinitions and their shares."""
    names = conventions.names
    return [
        Reflector(
            client,
            lcluster_resource(names),
            cache.lclusters,
            read_lcluster,
            failed=failed,
            recovered=recovered,
        ),
        Reflector(
            client,
            CUSTOM_RESOURCE_DEFINITION,
            cache.definitions,
            partial(read_definition, names=names),
            names.lcluster_label,
            failed,
            recovered,
        ),
        Reflector(
            client,
            RESOURCE_QUOTA,
            cache.share_quotas,
            partial(read_share_quota, names=names),
            names.lcluster_label,
            failed,
            recovered,
            is_needed=lambda key: key[1] == SHARE_QUOTA,
        ),
    ]
