"""Read the state of the platform's cluster that the check judges."""

import asyncio
import re
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from lnamespace.access.conventions import lcluster_resource, lnamespace_resource
from lnamespace.errors import Forbidden, NotFound, ServerFault, SettingsError, Unreadable
from lnamespace.gateway.certificates.tls import CLIENT_CA_PATH
from lnamespace.gateway.check.finding import name_some
from lnamespace.gateway.check.listing import (
    DefinedKind,
    UnlistableKind,
    find_unlistable,
    list_defined_kinds,
)
from lnamespace.gateway.check.parts import (
    AuthenticationConfig,
    Groups,
    ItemCondition,
    PlatformItem,
    ServedKind,
    ServedKinds,
    ServerVersion,
    item_pages,
)
from lnamespace.gateway.check.reviewing import review_rights
from lnamespace.gateway.check.rights import EXCESSIVE_RIGHTS, OWN_KINDS, needed_rights
from lnamespace.gateway.check.state import (
    FreeVolume,
    GroupBinding,
    PlatformState,
    UnavailableService,
    other_instances,
)
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.pages import list_pages
from lnamespace.kube.prefixed import ClusterObject, PrefixedObjects
from lnamespace.kube.resources import (
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    INGRESS_CLASS,
    NAMESPACE,
    PERSISTENT_VOLUME,
    PRIORITY_CLASS,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    STORAGE_CLASS,
    Resource,
)
from lnamespace.model.names import Names
from lnamespace.translate.discovery.published import Published
from lnamespace.translate.objects.default_classes import PLATFORM_MARKS
from lnamespace.translate.protocol.policies import BUILT_IN_GROUPS

_API_SERVICE = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices")
_AUTHORITIES = "kube-root-ca.crt"
"""The ConfigMap with the CAs that programs in pods trust."""
_AT_ONCE = 8
"""The most kinds of definitions that are listed at the same time."""

T = TypeVar("T")


@dataclass
class PlatformReader:
    """A reader of the platform's cluster; it records the resources that it cannot read.

    Parameters
    ----------
    account
        The gateway's ServiceAccount, as NAMESPACE/NAME.
    published
        The published objects.
    """

    client: Client
    names: Names
    account: str
    published: Published = field(default_factory=Published)
    unread: list[str] = field(default_factory=list)

    async def read(self) -> PlatformState:
        """Return the state of the cluster.

        Raises
        ------
        SettingsError
            The cluster has another instance, and not this one.
        ClusterError
            The API server gave no answer.
        """
        lnamespaces = lnamespace_resource(self.names)
        served = await self._read("its API", self._serves(lnamespaces), True)
        objects = await self._objects()
        if not served and (others := other_instances(objects, self.names)):
            raise SettingsError(
                f"--api-group-suffix: this cluster has no LNamespaces of {self.names.group}, but "
                f"of {name_some(others)}"
            )
        storage = await self._items(STORAGE_CLASS)
        defaults = [
            *self._defaults(STORAGE_CLASS, storage),
            *self._defaults(INGRESS_CLASS, await self._items(INGRESS_CLASS)),
        ]
        services = [each for each in await self._items(_API_SERVICE) if each.spec.service]
        defined = await self._read("customresourcedefinitions", list_defined_kinds(self.client), ())
        needed = needed_rights(self.names, self.account, self.published)
        review = review_rights(self.client, self.account, (*needed, *EXCESSIVE_RIGHTS))
        allowed = await self._read("subjectaccessreviews", review, {})
        return PlatformState(
            free_volumes=await self._free_volumes(),
            defined=defined,
            unlistable=await self._unlistable(defined),
            has_account=await self._read("serviceaccounts", self._has_account(), True),
            names=self.names,
            account=self.account,
            version=await self._server_version(),
            lclusters=await self._lclusters(),
            lnamespaces=tuple(each.metadata.name for each in await self._items(lnamespaces)),
            objects=objects,
            kinds=frozenset(await self._read("API groups", self._kinds(), ())),
            aggregated=frozenset(each.spec.group for each in services),
            unavailable=tuple(_unavailable(services)),
            bindings=await self._bindings(),
            published=self.published,
            secret_parameters=tuple(_with_secrets(storage, self.names.lcluster_label)),
            accounts=await self._accounts(),
            client_authorities=await self._read(
                "the client-ca-file", self._client_authorities(), None
            ),
            needed=len(needed) if allowed else 0,
            missing=tuple(each for each in needed if not allowed.get(each, True)),
            excessive=tuple(each for each in EXCESSIVE_RIGHTS if allowed.get(each)),
            distrusting=await self._read("configmaps", self._distrusting(objects), ()),
            unread=tuple(self.unread),
            default_classes=tuple(defaults),
            default_priorities=await self._default_priorities(),
            served=served,
        )

    async def _has_account(self) -> bool:
        namespace, _, name = self.account.partition("/")
        path = SERVICE_ACCOUNT.path(namespace=namespace)
        return bool(await self._list(path, fieldSelector=f"metadata.name={name}"))

    async def _unlistable(self, kinds: Iterable[DefinedKind]) -> tuple[UnlistableKind, ...]:
        """Return the namespaced kinds that cannot be listed; each may take half a minute."""
        empty, room = self.names.clusters_namespace, asyncio.Semaphore(_AT_ONCE)

        async def tried(kind: DefinedKind) -> UnlistableKind | None:
            async with room:
                return await self._read(kind.name, find_unlistable(self.client, kind, empty), None)

        found = await asyncio.gather(*(tried(each) for each in kinds if each.namespaced))
        return tuple(each for each in found if each)

    async def _default_priorities(self) -> frozenset[str]:
        """Return the PriorityClasses of the platform that pods have which name none."""
        label = self.names.lcluster_label
        return frozenset(
            each.metadata.name
            for each in await self._items(PRIORITY_CLASS)
            if each.global_default and label not in each.metadata.labels
        )

    async def _free_volumes(self) -> tuple[FreeVolume, ...]:
        """Return the volumes of the platform that are for nobody's claim yet."""
        label = self.names.lcluster_label
        return tuple(
            FreeVolume(each.metadata.name, each.spec.storage_class_name)
            for each in await self._items(PERSISTENT_VOLUME)
            if not each.spec.claim_ref and label not in each.metadata.labels
        )

    def _defaults(
        self, resource: Resource, classes: Iterable[PlatformItem]
    ) -> Iterator[ClusterObject]:
        """Return the classes of the platform that objects have which name none."""
        for each in classes:
            marked = {key for key, value in each.metadata.annotations.items() if value == "true"}
            if self.names.lcluster_label not in each.metadata.labels and marked & PLATFORM_MARKS:
                yield ClusterObject(resource, each.metadata)

    async def _read(self, what: str, work: Coroutine[Any, Any, T], otherwise: T) -> T:
        """Return the result of a read; if it fails, record that and return ``otherwise``.

        The check is to report another server for a group of Kubernetes that is down, for whose
        kinds the answer is 503, and one that answers something else.
        """
        try:
            return await work
        except (Forbidden, ServerFault):
            self.unread.append(what)
            return otherwise

    async def _serves(self, resource: Resource) -> bool:
        try:
            await self.client.list_metadata(resource.path(), limit="1")
        except NotFound:
            return False
        return True

    async def _server_version(self) -> tuple[int, int] | None:
        found = _decode(await self.client.get("/version"), ServerVersion)
        numbers = [re.match(r"\d+", part) for part in (found.major, found.minor)]
        major, minor = (int(each.group()) if each else 0 for each in numbers)
        return (major, minor) if major else None

    async def _lclusters(self) -> frozenset[str]:
        found = await self._items(lcluster_resource(self.names))
        return frozenset(each.metadata.name for each in found)

    async def _objects(self) -> tuple[ClusterObject, ...]:
        lister = PrefixedObjects(self.client, self.names.lcluster_label)
        found: list[ClusterObject] = []
        for kind in OWN_KINDS:
            found += await self._read(kind.plural, lister.everything((kind,)), ())
        return tuple(found)

    async def _accounts(self) -> tuple[str, ...]:
        path = SERVICE_ACCOUNT.path(namespace=self.names.clusters_namespace)
        found = await self._read("serviceaccounts", self._list(path), ())
        return tuple(each.metadata.name for each in found)

    async def _bindings(self) -> tuple[GroupBinding, ...]:
        found = [*await self._items(CLUSTER_ROLE_BINDING), *await self._items(ROLE_BINDING)]
        return tuple(
            GroupBinding(
                each.metadata.name, each.metadata.namespace, each.role_ref.name, each.subjects
            )
            for each in found
            if each.subjects
        )

    async def _items(self, resource: Resource) -> tuple[PlatformItem, ...]:
        return await self._read(resource.plural, self._list(resource.path()), ())

    async def _list(self, path: str, **params: str) -> tuple[PlatformItem, ...]:
        pages = list_pages(self.client.get, path, item_pages, params)
        try:
            return tuple([item async for page in pages for item in page.items or ()])
        except NotFound:
            return ()

    async def _distrusting(self, objects: Iterable[ClusterObject]) -> tuple[str, ...] | None:
        """Return the LClusters' namespaces whose pods do not know the gateway's CA."""
        namespace, _, name = self.account.partition("/")
        published = await self._list(
            CONFIG_MAP.path(namespace=namespace), fieldSelector=f"metadata.name={name}-for-pods"
        )
        authority = next(((each.data or {}).get("ca.crt") for each in published), None)
        if not authority:
            return None
        found = await self._list(CONFIG_MAP.path(), fieldSelector=f"metadata.name={_AUTHORITIES}")
        label = self.names.lcluster_label
        names = {
            each.metadata.name
            for each in objects
            if each.resource is NAMESPACE and label in each.metadata.labels
        }
        return tuple(
            each.metadata.namespace
            for each in found
            if each.metadata.namespace in names
            and authority not in (each.data or {}).get("ca.crt", "")
        )

    async def _kinds(self) -> tuple[str, ...]:
        """Return the kinds in Kubernetes' own API groups."""
        groups = _decode(await self.client.get("/apis"), Groups).groups
        versions = [
            (f"/apis/{each.group_version}", each.group_version)
            for group in groups
            if group.name in BUILT_IN_GROUPS
            for each in group.versions
        ]
        found: list[str] = []
        for path, api_version in (("/api/v1", "v1"), *versions):
            kinds = await self._read(path, self._served(path), ())
            found += (f"{api_version} {each.kind}" for each in kinds if "/" not in each.name)
        return tuple(found)

    async def _served(self, path: str) -> tuple[ServedKind, ...]:
        try:
            return _decode(await self.client.get(path), ServedKinds).resources
        except (NotFound, ServerFault):
            return ()  # An aggregated API server that is starting, stopping or broken.

    async def _client_authorities(self) -> bool | None:
        try:
            found = _decode(await self.client.get(CLIENT_CA_PATH), AuthenticationConfig)
        except NotFound:
            return False
        return bool(found.data.get("client-ca-file"))


def _with_secrets(classes: Iterable[PlatformItem], tenant_label: str) -> Iterator[str]:
    """Return the platform's StorageClasses that name a Secret, as drivers of CSI know it."""
    for each in classes:
        if tenant_label not in each.metadata.labels and any(
            "secret" in key.lower() for key in each.parameters or {}
        ):
            yield each.metadata.name


def _unavailable(services: Iterable[PlatformItem]) -> Iterator[UnavailableService]:
    """Return the aggregated APIServices that do not answer, or have not been asked yet."""
    for each in services:
        found = (one for one in each.status.conditions or () if one.type == "Available")
        condition = next(found, None)
        if condition is None or condition.status != "True":
            yield UnavailableService(each.metadata.name, _why(condition))


def _why(condition: ItemCondition | None) -> str:
    if condition is None:
        return "not asked yet"
    said = (condition.reason, condition.message)
    return ": ".join(each for each in said if each) or condition.status


def _decode(answer: bytes, type_: type[T]) -> T:
    try:
        return answers.decode(msgspec.json.Decoder(type_), answer)
    except Unreadable as error:
        raise Unreadable(f"{type_.__name__.strip('_')}: {error}") from error
