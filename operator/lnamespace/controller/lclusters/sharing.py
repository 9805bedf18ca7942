"""Write the shares of an LCluster: into its status first, then into its ResourceQuotas."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from lnamespace.access.conventions import Conventions, lcluster_resource
from lnamespace.controller.lclusters.cache import LClusterCache
from lnamespace.controller.lclusters.division import (
    SharedNamespace,
    divide_totals,
    shared_namespaces,
    totals_of,
)
from lnamespace.controller.lclusters.observation import LClusterObservation
from lnamespace.controller.lclusters.resource import CachedLCluster, read_lcluster
from lnamespace.controller.lclusters.share_quotas import (
    CachedShareQuota,
    read_share_quota,
    unchanged_test,
)
from lnamespace.controller.status_writer import replace_status
from lnamespace.errors import AlreadyExists, ClusterError, Conflict, NotFound
from lnamespace.kube.client import Client
from lnamespace.kube.resources import RESOURCE_QUOTA
from lnamespace.model.lcluster import LCluster, NamespaceShare
from lnamespace.model.names import SHARE_QUOTA

Shared = tuple[LClusterObservation, list[ClusterError]]
"""The observation after the shares were written, and the failures."""


@dataclass(frozen=True)
class ShareWriter:
    """A writer of the shares that namespaces have of their LCluster's totals."""

    client: Client
    cache: LClusterCache
    conventions: Conventions

    async def share(self, observation: LClusterObservation) -> Shared:
        """Write the next shares of an LCluster; without totals, delete them.

        A ResourceQuota is written if it still has the generation from before ``status.shares`` was
        written: a limit that another controller has lowered since then is not raised again.
        """
        lcluster = observation.lcluster
        quotas = {
            each.key[1]: found
            for each in observation.own
            if (found := self.cache.share_quotas.get((each.key[1], SHARE_QUOTA)))
        }
        if not lcluster.spec.quota:
            return await self._end(observation, quotas.values())
        demands = {
            each.key[1]: self.cache.demand.demand_in(each.key[1]) for each in observation.own
        }
        before = shared_namespaces(lcluster, observation.own, quotas, demands)
        shares = divide_totals(totals_of(lcluster), before)
        after = tuple(
            replace(each, share=share) for each, share in zip(before, shares, strict=True)
        )
        outdated = [each for each in after if each.outdated]
        if not outdated and shares == lcluster.status.shares:
            return observation, []
        try:
            observation = await self._write_shares(observation, shares)
        except ClusterError as error:
            return observation, [error]
        results = await asyncio.gather(*(self._write_quota(lcluster, each) for each in outdated))
        return observation, [error for error in results if error]

    async def _end(
        self, observation: LClusterObservation, quotas: Iterable[CachedShareQuota]
    ) -> Shared:
        """Delete the ResourceQuotas, and then the shares."""
        failures: list[ClusterError] = []
        for each in quotas:
            namespace, name = each.key
            try:
                await self.client.delete(RESOURCE_QUOTA.path(name, namespace), each.uid)
            except NotFound:
                pass
            except ClusterError as error:
                failures.append(error)
                continue
            self.cache.share_quotas.remove_after_response(each.key, each.version)
        if failures or not observation.lcluster.status.shares:
            return observation, failures
        try:
            return await self._write_shares(observation, ()), []
        except ClusterError as error:
            return observation, [error]

    async def _write_shares(
        self, observation: LClusterObservation, shares: tuple[NamespaceShare, ...]
    ) -> LClusterObservation:
        """Write the shares if the LCluster is unchanged; return the new observation.

        Equal shares are written too: the answer confirms that they are still in force.
        """
        lcluster = self._newest(observation).lcluster
        whole = msgspec.structs.replace(lcluster.status, shares=shares)
        resource = lcluster_resource(self.conventions.names)
        answer = await replace_status(self.client, resource, lcluster, whole, if_unchanged=True)
        read = read_lcluster(answer)
        self.cache.lclusters.apply_write_response(read)
        return replace(observation, cached=read)

    def _newest(self, observation: LClusterObservation) -> CachedLCluster:
        """Return the LCluster after a write of its finalizer that changed nothing else."""
        known, lcluster = self.cache.get(observation.name), observation.lcluster
        if (
            known is not None
            and not known.terminating
            and known.lcluster.uid == lcluster.uid
            and (known.lcluster.spec, known.lcluster.status) == (lcluster.spec, lcluster.status)
        ):
            return known
        return CachedLCluster(("", observation.name), 0, lcluster)

    async def _write_quota(
        self, lcluster: LCluster, namespace: SharedNamespace
    ) -> ClusterError | None:
        """Write one ResourceQuota; return the failure."""
        try:
            if namespace.quota is None:
                answer = await self._create_quota(lcluster, namespace)
            else:
                answer = await self._replace_quota(lcluster, namespace, namespace.quota)
        except ClusterError as error:
            return error
        self.cache.share_quotas.apply_write_response(
            read_share_quota(answer, self.conventions.names)
        )
        return None

    async def _create_quota(self, lcluster: LCluster, namespace: SharedNamespace) -> bytes:
        path = RESOURCE_QUOTA.path(namespace=namespace.name)
        built = {
            "apiVersion": RESOURCE_QUOTA.api_version,
            "kind": RESOURCE_QUOTA.kind,
            "metadata": {"name": SHARE_QUOTA} | self._marks(lcluster, namespace),
            "spec": {"hard": namespace.share.limits},
        }
        try:
            return await self.client.create(path, msgspec.json.encode(built))
        except AlreadyExists:
            # The watch is behind, or the quota existed before the LCluster had its name.
            path = RESOURCE_QUOTA.path(SHARE_QUOTA, namespace.name)
            found = read_share_quota(await self.client.get(path), self.conventions.names)
            if found.generation < 0:
                return await self._replace_quota(lcluster, namespace, found)
            self.cache.share_quotas.apply_write_response(found)
            raise

    async def _replace_quota(
        self, lcluster: LCluster, namespace: SharedNamespace, found: CachedShareQuota
    ) -> bytes:
        marks = self._marks(lcluster, namespace)
        operations: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/uid", "value": found.uid},
            unchanged_test(found, self.conventions.names),
            {"op": "add", "path": "/spec/hard", "value": namespace.share.limits},
        ]
        operations += [
            {"op": "add", "path": f"/metadata/{key}", "value": value}
            for key, value in marks.items()
        ]
        path = RESOURCE_QUOTA.path(SHARE_QUOTA, namespace.name)
        try:
            return await self.client.patch_json(path, operations)
        except NotFound as error:
            self.cache.share_quotas.remove_after_response(found.key, found.version)
            raise Conflict("deleted while it was being changed", status=404) from error

    def _marks(self, lcluster: LCluster, namespace: SharedNamespace) -> dict[str, Any]:
        names = self.conventions.names
        return {
            "labels": self.conventions.labels() | {names.lcluster_label: lcluster.name},
            "annotations": {names.share_annotation: str(namespace.share.generation)},
        }
