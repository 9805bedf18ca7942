"""The Kubernetes that the tests run on (``K8S=1.33``), and what is not in an older one."""

import os

import pytest
from controlplane.versions import release

_KINDS = {
    "IPAddress": "1.33",
    "ServiceCIDR": "1.33",
    "DeviceClass": "1.34",
    "ResourceClaim": "1.34",
    "ResourceClaimTemplate": "1.34",
    "ResourceSlice": "1.34",
    "VolumeAttributesClass": "1.34",
    "MutatingAdmissionPolicy": "1.36",
    "MutatingAdmissionPolicyBinding": "1.36",
}
"""The version from which a kind is served as stable."""


def is_since(minor: str) -> bool:
    """Return whether the Kubernetes of this run is of a version, or newer."""
    here = release(os.environ.get("LNAMESPACE_KUBERNETES") or None).name
    return _number(here) >= _number(minor)


def serves(kind: str) -> bool:
    """Return whether the Kubernetes of this run serves a kind as stable."""
    return is_since(_KINDS.get(kind, "1.0"))


def since(minor: str, what: str) -> pytest.MarkDecorator:
    """Skip a test on a Kubernetes older than a version; ``what`` is not in it."""
    return pytest.mark.skipif(not is_since(minor), reason=f"{what}: from Kubernetes {minor} on")


def _number(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split(".")))


NEW_WORDS = since("1.33", "the words of refusals that the gateway has too")
RESIZE = since("1.33", "pods that are resized")
POD_GATEWAY = since("1.36", "pods have the gateway as their API server")
MARKED_VOLUMES = since("1.36", "volumes have a mark of their LCluster")
WATCH_LIST = since("1.34", "watches that begin with a list")
REPLAY = "watch=true" + (
    "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    if is_since("1.34")
    else ""
)
"""The query of a watch that begins with all that there is, as its clients ask for that."""
WHY_NOT_IN_MEMORY = since("1.36", "why the API server does not have a kind in memory")
DEVICES = since("1.34", "devices")
