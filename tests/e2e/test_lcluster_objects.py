"""Objects of every kind through the gateway: stored under the tenant's prefix, read without it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.support.api import NAMESPACES, Api, ApiError, Object, ns_path
from tests.e2e.support.furnished import EVERY_KIND
from tests.e2e.support.gateway import GatewayCluster, LClusters, Resident
from tests.e2e.support.openapi_objects import Schemas, written
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

LABEL = "tenancy.loblaw.digital/lcluster"
OWN_GROUP = "example.com"
SAMPLES = EVERY_KIND


@dataclass(frozen=True)
class Place:
    """Where an object is: inside the tenant's cluster, and upstream."""

    tenant: str
    upstream: str
    namespaced: bool


@dataclass(frozen=True)
class Both:
    """One tenant's cluster and the platform's, with every right in each."""

    alice: Resident
    admin: Api

    @cached_property
    def root(self) -> Api:
        """Return requests of a sudoer with sudo."""
        return self.alice.api.acting("alice", "system:masters")

    def printed(self, place: Place) -> str:
        """Return what kubectl prints of all objects of a kind."""
        group, _, plural = place.tenant.rpartition("/")
        group = group.split("/")[2] if group.startswith("/apis/") else ""
        kind = f"{plural}.{group}" if group else plural
        sudo = ("--as=alice", "--as-group=system:masters")
        return self.alice.kubectl(*sudo, "get", kind, "-A", "-o", "wide").ok()

    def place(self, sample: Object) -> Place:
        """Return where an object is, without its name, by what the gateway serves."""
        version: str = sample["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        served = [each for each in self.root.get(base)["resources"] if "/" not in each["name"]]
        (resource,) = [each for each in served if each["kind"] == sample["kind"]]
        above = base.replace(f"/{OWN_GROUP}/", f"/acme-{OWN_GROUP}/")
        namespace = sample["metadata"].get("namespace")
        if namespace:
            return Place(
                f"{base}/namespaces/{namespace}/{resource['name']}",
                f"{above}/namespaces/acme-{namespace}/{resource['name']}",
                namespaced=True,
            )
        return Place(f"{base}/{resource['name']}", f"{above}/{resource['name']}", namespaced=False)


def identity(sample: Object) -> str:
    return f"{sample['apiVersion']}-{sample['kind']}-{sample['metadata']['name']}"


def name_upstream(sample: Object, place: Place) -> str:
    name: str = sample["metadata"]["name"]
    if place.namespaced:
        return name
    if sample["kind"] == "CustomResourceDefinition":
        plural, _, group = name.partition(".")
        return f"{plural}.acme-{group}"
    return f"acme-{name}"


@pytest.fixture(scope="module")
def cluster(gateway_cluster: GatewayCluster) -> GatewayCluster:
    """Return the cluster that files about the gateway share."""
    return gateway_cluster


@pytest.fixture(scope="module")
def both(cluster: GatewayCluster, people: People) -> Both:
    """Return one LCluster with a namespace ``prod`` in it."""
    made = LClusters(cluster, people)
    made.make("acme", "alice", sudoers=("alice",))
    alice = made.resident("acme", "alice")
    alice.api.create(NAMESPACES, {"metadata": {"name": "prod"}})
    cluster.admin.create(NAMESPACES, {"metadata": {"name": "prod"}})
    return Both(alice, cluster.admin)


def differences(own: Any, answered: Any, path: str = "") -> Iterator[str]:
    """Yield where an answer is not as the object was written; what is added is no difference."""
    if isinstance(own, dict) and isinstance(answered, dict):
        for key, value in own.items():
            if key in answered:
                yield from differences(value, answered[key], f"{path}.{key}")
            elif value not in ({}, [], None, "", False):
                yield f"{path}.{key} is missing"
    elif isinstance(own, list) and isinstance(answered, list) and len(own) <= len(answered):
        for index, value in enumerate(own):
            yield from differences(value, answered[index], f"{path}[{index}]")
    elif own != answered:
        yield f"{path} is {answered!r} and not {own!r}"


def betrays(answer: Object) -> bool:
    """Return whether an answer has something in it that is only upstream."""
    text = json.dumps(answer)
    return "acme-" in text or LABEL in text or "lcluster" in text


@pytest.mark.parametrize("sample", SAMPLES, ids=identity)
def test_an_object_of_each_kind_is_stored_under_the_tenants_prefix(
    both: Both, sample: Object
) -> None:
    eventually(lambda: _served(both, sample), what="the kind is not served")
    place = both.place(sample)
    created = both.root.create(place.tenant, sample, fieldValidation="Strict")
    assert list(differences(sample, created)) == []
    path = f"{place.tenant}/{sample['metadata']['name']}"
    assert not betrays(both.root.get(path))
    stored = both.admin.get(f"{place.upstream}/{name_upstream(sample, place)}")
    assert stored["metadata"]["uid"] == created["metadata"]["uid"]
    assert (stored["metadata"].get("labels", {}).get(LABEL) == "acme") is not place.namespaced
    eventually(lambda: _changes_nothing(both, path), what="an update of nothing is a write")
    printed = both.printed(place)
    assert sample["metadata"]["name"] in printed
    assert "acme-" not in printed


LIMITS = ("LimitRange", "ResourceQuota")
"""Kinds whose objects change or refuse those that are made after them."""
KEPT_ASIDE = ("ClusterRole", "FlowSchema", "PriorityLevelConfiguration", "ResourceSlice")
"""Kinds of which the API server does not see all that the tenant writes."""
MADE_ANEW = ("CertificateSigningRequest", "Job", "Pod", "Service")
"""Kinds of which the API server fills in something else in each object."""
_OWN = re.compile("acme-|lcluster[.]acme|lcluster:acme:")


@dataclass(frozen=True)
class Documents:
    """The OpenAPI documents that the gateway serves, each read once."""

    api: Api
    read: dict[str, Object] = field(default_factory=dict)

    def of(self, version: str) -> Object:
        """Return the document of a group and version."""
        path = f"/openapi/v3/{'apis' if '/' in version else 'api'}/{version}"
        if path not in self.read:
            self.read[path] = self.api.get(path)
        return self.read[path]


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.thorough)])
def test_generated_objects_are_the_same_through_the_gateway_and_directly(
    both: Both, rounds: int
) -> None:
    """And the same as on a cluster without a gateway, where a namespace ``prod`` is too."""
    seed = uuid4().int
    documents, wrong = Documents(both.root), []
    native = [each for each in SAMPLES if "example.com" not in str(each["metadata"]["name"])]
    native = [each for each in native if not each["apiVersion"].startswith(OWN_GROUP)]
    for number in range(rounds):
        for sample in sorted(native, key=lambda each: each["kind"] in LIMITS):
            name = f"{sample['metadata']['name']}-{seed % 100_000}-{number}"
            own = sample | {"metadata": {**sample["metadata"], "name": name}}
            schemas = Schemas(documents.of(own["apiVersion"]), Random(seed + number))
            wrong += [f"{seed}: {each}" for each in _both_ways(both, own, schemas)]
        for kind in LIMITS:
            both.root.delete(ns_path("prod", f"{kind.lower()}s"))
    assert wrong == []


def _both_ways(both: Both, sample: Object, schemas: Schemas) -> Iterator[str]:
    """Write an object through the gateway and directly; yield what is not as it should be."""
    place, kind = both.place(sample), sample["kind"]
    body = written(both.root, place.tenant, sample, schemas)
    below = both.root.get(f"{place.tenant}/{sample['metadata']['name']}")
    if betrays(below):
        yield f"{kind}: what is upstream only is in {json.dumps(below)}"
    try:
        plain = both.admin.create(place.tenant, body, dryRun="All")
    except ApiError as error:
        if kind not in KEPT_ASIDE:
            yield f"{kind} is refused by the API server: {error}"
    else:
        found = () if kind in MADE_ANEW else _unlike(plain, below)
        yield from (f"{kind}{each}" for each in found)
    if not place.namespaced or kind == "Event":
        return
    above = both.admin.get(f"{place.upstream}/{name_upstream(sample, place)}")
    yield from (f"{kind} upstream: {each}" for each in _unlike(above, below))
    if kind not in MADE_ANEW:
        name = f"{sample['metadata']['name']}-t"
        twin = {**above, "metadata": {"name": name, "labels": above["metadata"].get("labels")}}
        made = both.admin.create(place.upstream, twin)
        read = both.root.get(f"{place.tenant}/{name}")
        yield from (f"{kind} written upstream: {each}" for each in _unlike(made, read))


def _unlike(above: Object, below: Object) -> Iterator[str]:
    """Yield where two objects differ, but for the prefix and what confines a selector."""
    kept = [
        {**each, "status": None, "metadata": {"labels": each["metadata"].get("labels")}}
        for each in (above, below)
    ]
    own, read = map(_without_prefix, kept)
    yield from differences(own, read)
    yield from (f"{each} (more)" for each in differences(read, own) if "missing" in each)


def _without_prefix(value: Any) -> Any:
    """Return a value without what the gateway adds on the way up, wherever it stands."""
    if isinstance(value, dict):
        own = {key: each for key, each in value.items() if key != LABEL}
        below = {_OWN.sub("", key): _without_prefix(each) for key, each in own.items()}
        return {key: each for key, each in below.items() if key != "matchLabels" or each}
    if isinstance(value, list):
        return [_without_prefix(each) for each in value]
    return _OWN.sub("", value) if isinstance(value, str) else value


def _served(both: Both, sample: Object) -> bool:
    try:
        both.place(sample)
    except ApiError:
        return False
    return True


def _changes_nothing(both: Both, path: str) -> bool:
    """Return whether an object that is written as it was read stays as it is."""
    read = both.root.get(path)
    try:
        written = both.root.replace(path, read)
    except ApiError as error:
        if error.status == 409:
            return False
        raise
    version: bool = written["metadata"]["resourceVersion"] == read["metadata"]["resourceVersion"]
    return version
