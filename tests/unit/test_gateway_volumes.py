"""Nobody writes the volume that a provisioner made for somebody else."""

from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest
from lnamespace.gateway.calls import TenantCall
from lnamespace.gateway.parts import cluster_parts
from lnamespace.gateway.upstream import Upstream
from lnamespace.gateway.volumes import confirm_own_volume
from lnamespace.translate.status import Refused
from lnamespace.translate.targets import ListedObjects

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
async def test_any_other_volume_is_not_there(verb: str, upstream: StoredVolume) -> None:
    with pytest.raises(Refused) as refused:
        await confirm(upstream, verb)
    message = f'persistentvolumes "{PROVISIONED}" not found'
    assert (refused.value.status.code, refused.value.status.message) == (404, message)


async def test_a_volume_with_the_tenants_prefix_is_its_own() -> None:
    upstream = StoredVolume("beta-prod")
    await confirm(upstream, "delete", "mine")
    await confirm(upstream, "get")
    assert upstream.asked == []


def test_volumes_of_provisioners_are_listed_too() -> None:
    listed = [part.listed for part in cluster_parts(asked("persistentvolumes", "list"))]
    assert listed == [ListedObjects.OWN, ListedObjects.PLATFORM]
    assert len(cluster_parts(asked("namespaces", "list"))) == 1
