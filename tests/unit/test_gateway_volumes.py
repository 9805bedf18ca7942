"""Nobody writes the volume that a provisioner made for somebody else."""

from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import unquote

import msgspec
import pytest
from lnamespace.gateway.lists.parts import cluster_parts
from lnamespace.gateway.objects.volumes import confirm_own_volume
from lnamespace.gateway.requests.calls import TenantCall
from lnamespace.gateway.tenants.volume_sizes import VolumeSizes, read_volume
from lnamespace.gateway.upstream.requests import Upstream
from lnamespace.translate.objects.labels import CLAIMED_BY
from lnamespace.translate.protocol.status import Refused
from lnamespace.translate.requests.targets import ListedObjects

from tests.unit.support.translation import ACME, asked

PROVISIONED = "pvc-cb23c200-f249-11ea-9039-3497f65a8415"


@dataclass
class StoredAnswer:
    status: int
    body: bytes

    async def read(self) -> bytes:
        return self.body


@dataclass
class StoredVolume:
    """An API server that has one volume."""

    namespace: str
    status: int = 200
    asked: list[str] = field(default_factory=list)

    async def send(self, method: str, target: str, *_: object) -> StoredAnswer:
        self.asked.append(f"{method} {target}")
        volume = {
            "metadata": {"name": PROVISIONED},
            "spec": {"claimRef": {"namespace": self.namespace, "name": "data"}},
        }
        return StoredAnswer(self.status, msgspec.json.encode(volume))


async def confirm(upstream: StoredVolume, verb: str, name: str = PROVISIONED) -> None:
    request = asked("persistentvolumes", verb, name=name)
    call = TenantCall(cast("Any", None), request, ACME, "ann")
    await confirm_own_volume(cast("Upstream", upstream), call)


@pytest.mark.parametrize("verb", ["update", "patch", "delete"])
async def test_the_volume_of_a_tenants_own_claim_may_be_written(verb: str) -> None:
    upstream = StoredVolume("acme-prod")
    await confirm(upstream, verb)
    assert upstream.asked == [f"GET /api/v1/persistentvolumes/{PROVISIONED}"]


@pytest.mark.parametrize("verb", ["update", "patch", "delete"])
@pytest.mark.parametrize(
    "upstream",
    [
        StoredVolume("beta-prod"),
        StoredVolume("prod"),
        StoredVolume("acmeprod"),
        StoredVolume("acme-prod", 404),
        StoredVolume("acme-prod", 500),
    ],
)
async def test_a_write_to_any_other_volume_is_answered_with_404(
    verb: str, upstream: StoredVolume
) -> None:
    with pytest.raises(Refused) as refused:
        await confirm(upstream, verb)
    message = f'persistentvolumes "{PROVISIONED}" not found'
    assert (refused.value.status.code, refused.value.status.message) == (404, message)


async def test_a_volume_with_the_tenants_prefix_is_written_without_a_lookup() -> None:
    upstream = StoredVolume("beta-prod")
    await confirm(upstream, "delete", "mine")
    await confirm(upstream, "get")
    assert upstream.asked == []


def test_dynamically_provisioned_volumes_are_listed() -> None:
    listed = [part.listed for part in cluster_parts(asked("persistentvolumes", "list"))]
    assert listed == [ListedObjects.OWN, ListedObjects.PLATFORM]
    assert len(cluster_parts(asked("namespaces", "list"))) == 1


def test_marked_volumes_are_listed_by_label_selector() -> None:
    """A list of PersistentVolumes read those of the whole cluster, and a watch all their events."""
    request = asked("persistentvolumes", "list")
    parts = cluster_parts(request, marked=True)
    assert [part.listed for part in parts] == [ListedObjects.OWN, ListedObjects.CLAIMED]
    selector = unquote(parts[1].target(ACME)).partition("labelSelector=")[2]
    assert selector.partition("&")[0] == (
        "!tenancy.loblaw.digital/lcluster,lcluster.tenancy.loblaw.digital/claimed-by=acme"
    )
    names = [part.name for part in cluster_parts(request)]
    assert [part.name for part in parts] == names, "lists and watches go on where they were"


def known(*volumes: bytes) -> VolumeSizes:
    """Return what is known after a list of these volumes."""
    sizes = VolumeSizes(cast("Any", None))
    sizes._store.replace(map(read_volume, volumes), 9)  # noqa: SLF001 - what a list does
    sizes._reflector.synced.set()  # noqa: SLF001 - what a list does
    return sizes


def volume(name: str, namespace: str, mark: str = "") -> bytes:
    labels = {CLAIMED_BY: mark} if mark else None
    return msgspec.json.encode(
        {
            "metadata": {"name": name, "resourceVersion": "7", "labels": labels},
            "spec": {"claimRef": {"namespace": namespace}},
        }
    )


def test_an_unmarked_claimed_volume_prevents_listing_by_label_selector() -> None:
    marked = volume(PROVISIONED, "acme-prod", "acme")
    assert known(marked).all_marked("acme")
    assert not known(volume(PROVISIONED, "acme-prod")).all_marked("acme")
    assert not known(volume(PROVISIONED, "acme-prod", "beta")).all_marked("acme")
    assert known(volume(PROVISIONED, "beta-prod")).all_marked("acme")
    assert known(volume("acme-own", "acme-prod"), volume("nfs", "prod")).all_marked("acme")


def test_volumes_do_not_count_as_marked_before_the_cache_has_synced() -> None:
    assert not VolumeSizes(cast("Any", None)).all_marked("acme")


def test_marking_or_deleting_a_volume_updates_whether_all_are_marked() -> None:
    sizes = known(volume(PROVISIONED, "acme-prod"))
    store = sizes._store  # noqa: SLF001 - what a watch does
    later = replace(read_volume(volume(PROVISIONED, "acme-prod", "acme")), version=10)
    store.apply_event(later)
    assert sizes.all_marked("acme")
    store.apply_event(replace(later, version=11, marked=""))
    assert not sizes.all_marked("acme")
    store.remove(later.key, 12)
    assert sizes.all_marked("acme")
