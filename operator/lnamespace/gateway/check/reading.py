"""Read the state of the platform's cluster that the check judges."""

import asyncio
import re
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from lnamespace.access.conventions import lcluster_resource, lnamespace_resource
from lnamespace.errors import Forbidden, NotFound, ServerFault, SettingsError, Unreadable
from lnamespace.gateway.certificates.tls import CLIENT_CA_PATH
from lnamespace.gateway.check.conversions import (
    UnlistableKind,
    find_unlistable,
    list_converted_kinds,
)
from lnamespace.gateway.check.finding import name_some
from lnamespace.gateway.check.reviewing import review_rights
from lnamespace.gateway.check.rights import EXCESSIVE_RIGHTS, OWN_KINDS, needed_rights
from lnamespace.gateway.check.state import FreeVolume, GroupBinding, PlatformState, other_instances
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import ListMeta, PartialMetadata
from lnamespace.kube.objects import RbacSubject, RoleRef
from lnamespace.kube.pages import list_pages
from lnamespace.kube.prefixed import ClusterObject, PrefixedObjects
from lnamespace.kube.resources import (
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    INGRESS_CLASS,
    NAMESPACE,
    PERSISTENT_VOLUME,
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

T = TypeVar("T")


class _Server(msgspec.Struct, frozen=True):
    major: str
    minor: str


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, frozen=True):
    name: str
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


class _ServedKind(msgspec.Struct, frozen=True):
    name: str
    kind: str


class _ServedKinds(msgspec.Struct, frozen=True):
    resources: tuple[_ServedKind, ...] = ()


class _ItemSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of an APIService, and of a PersistentVolume."""

    group: str = ""
    service: dict[str, Any] | None = None
    claim_ref: dict[str, Any] | None = None
    storage_class_name: str = ""


class _ItemMeta(PartialMetadata, frozen=True, rename="camel"):
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)


class _Item(msgspec.Struct, frozen=True, rename="camel"):
    """An object of any of the kinds that are read in whole."""

    metadata: _ItemMeta
    spec: _ItemSpec = _ItemSpec()
    role_ref: RoleRef = RoleRef("", "")
    subjects: tuple[RbacSubject, ...] | None = None
    parameters: dict[str, str] | None = None
    data: dict[str, str] | None = None


class _ItemPage(msgspec.Struct, frozen=True):
    metadata: ListMeta
    items: tuple[_Item, ...] | None = None


_item_pages = msgspec.json.Decoder(_ItemPage)


class _AuthenticationConfig(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


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
        services = await self._items(_API_SERVICE)
        needed = needed_rights(self.names, self.account, self.published)
        review = review_rights(self.client, self.account, (*needed, *EXCESSIVE_RIGHTS))
        allowed = await self._read("subjectaccessreviews", review, {})
        return PlatformState(
            free_volumes=await self._free_volumes(),
            unlistable=await self._unlistable(),
            has_account=await self._read("serviceaccounts", self._has_account(), True),
            names=self.names,
            account=self.account,
            version=await self._server_version(),
            lclusters=await self._lclusters(),
            lnamespaces=tuple(each.metadata.name for each in await self._items(lnamespaces)),
            objects=objects,
            kinds=frozenset(await self._read("API groups", self._kinds(), ())),
            aggregated=frozenset(each.spec.group for each in services if each.spec.service),
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
            served=served,
        )

    async def _has_account(self) -> bool:
        namespace, _, name = self.account.partition("/")
        path = SERVICE_ACCOUNT.path(namespace=namespace)
        return bool(await self._list(path, fieldSelector=f"metadata.name={name}"))

    async def _unlistable(self) -> tuple[UnlistableKind, ...]:
        """Return the kinds whose conversion webhooks fail; each may take half a minute."""
        kinds = await self._read("customresourcedefinitions", list_converted_kinds(self.client), ())
        empty = self.names.clusters_namespace
        tried = ((each.name, find_unlistable(self.client, each, empty)) for each in kinds)
        found = await asyncio.gather(*(self._read(name, work, None) for name, work in tried))
        return tuple(each for each in found if each)

    async def _free_volumes(self) -> tuple[FreeVolume, ...]:
        """Return the volumes of the platform that are for nobody's claim yet."""
        label = self.names.lcluster_label
        return tuple(
            FreeVolume(each.metadata.name, each.spec.storage_class_name)
            for each in await self._items(PERSISTENT_VOLUME)
            if not each.spec.claim_ref and label not in each.metadata.labels
        )

    def _defaults(self, resource: Resource, classes: Iterable[_Item]) -> Iterator[ClusterObject]:
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
        found = _decode(await self.client.get("/version"), _Server)
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

    async def _items(self, resource: Resource) -> tuple[_Item, ...]:
        return await self._read(resource.plural, self._list(resource.path()), ())

    async def _list(self, path: str, **params: str) -> tuple[_Item, ...]:
        pages = list_pages(self.client.get, path, _item_pages, params)
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
        groups = _decode(await self.client.get("/apis"), _Groups).groups
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

    async def _served(self, path: str) -> tuple[_ServedKind, ...]:
        try:
            return _decode(await self.client.get(path), _ServedKinds).resources
        except (NotFound, ServerFault):
            return ()  # An aggregated API server that is starting, stopping or broken.

    async def _client_authorities(self) -> bool | None:
        try:
            found = _decode(await self.client.get(CLIENT_CA_PATH), _AuthenticationConfig)
        except NotFound:
            return False
        return bool(found.data.get("client-ca-file"))


def _with_secrets(classes: Iterable[_Item], tenant_label: str) -> Iterator[str]:
    """Return the platform's StorageClasses that name a Secret, as drivers of CSI know it."""
    for each in classes:
        if tenant_label not in each.metadata.labels and any(
            "secret" in key.lower() for key in each.parameters or {}
        ):
            yield each.metadata.name


def _decode(answer: bytes, type_: type[T]) -> T:
    try:
        return answers.decode(msgspec.json.Decoder(type_), answer)
    except Unreadable as error:
        raise Unreadable(f"{type_.__name__.strip('_')}: {error}") from error
