"""The reflectors that keep the caches of LClusters current."""

from collections.abc import Callable
from functools import partial

from lnamespace.access.conventions import Conventions, lcluster_resource
from lnamespace.controller.lclusters.cache import LClusterCache
from lnamespace.controller.lclusters.definitions import CachedDefinition, read_definition
from lnamespace.controller.lclusters.resource import CachedLCluster, read_lcluster
from lnamespace.kube.client import Client
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION

LClusterReflector = Reflector[CachedLCluster] | Reflector[CachedDefinition]


def lcluster_reflectors(
    client: Client,
    cache: LClusterCache,
    conventions: Conventions,
    failed: Callable[[str], object],
    recovered: Callable[[], object],
) -> list[LClusterReflector]:
    """Return the reflectors of LClusters and of their CustomResourceDefinitions."""
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
    ]
