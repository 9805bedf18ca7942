"""A request for a kind is sent in the version in which the API server serves the kind."""

from dataclasses import dataclass
from typing import Any, cast

import msgspec
import pytest
from lnamespace.errors import NotFound
from lnamespace.kube.resources import PERSISTENT_VOLUME, Resource
from lnamespace.kube.served import in_served_version

KIND = Resource("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses")


@dataclass
class Discovery:
    """An API server's discovery by path."""

    documents: dict[str, Any]

    async def get(self, path: str) -> bytes:
        if path not in self.documents:
            raise NotFound("no such path", status=404)
        return msgspec.json.encode(self.documents[path])


def discovery(*versions: str, serving: str) -> dict[str, Any]:
    group = {"versions": [{"groupVersion": f"g/{each}", "version": each} for each in versions]}
    named = {each: [{"name": KIND.plural}] if each == serving else [] for each in versions}
    return {"/apis/storage.k8s.io": group} | {
        f"/apis/storage.k8s.io/{each}": {"resources": named[each]} for each in versions
    }


async def older(kind: Resource) -> str:
    """Return the version of a kind, which is not served as v1."""
    if kind.version == "v1":
        raise NotFound("no such path", status=404)
    return kind.version


@pytest.mark.parametrize(
    ("documents", "found"),
    [
        (discovery("v1", "v1beta1", "v1alpha1", serving="v1beta1"), "v1beta1"),
        (discovery("v1", "v1beta1", "v1alpha1", serving="v1alpha1"), "v1alpha1"),
        (discovery("v1", serving=""), ""),
        ({}, ""),
    ],
)
async def test_a_kind_is_found_in_the_version_that_is_served(documents: Any, found: str) -> None:
    assert await in_served_version(cast(Any, Discovery(documents)), KIND, older) == (found or None)


async def test_a_kind_of_the_core_api_has_one_version() -> None:
    assert await in_served_version(cast(Any, Discovery({})), PERSISTENT_VOLUME, older) is None
