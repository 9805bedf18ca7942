"""What the webhook fills in and refuses of LClusters."""

from typing import Any

import pytest
from lnamespace.admission.decisions.mutation import mutate
from lnamespace.admission.decisions.review import (
    AdmissionRequest,
    GroupVersionKind,
    UserInfo,
    decode_review,
)
from lnamespace.admission.decisions.validation import validate
from lnamespace.admission.prefixes import ClusterPrefixes
from lnamespace.errors import NotFound, ReviewError, Unreachable
from lnamespace.kube.resources import NAMESPACE

from tests.unit.support.admission import ALICE, NAMES, POLICY, Json, context, patched

GVK = GroupVersionKind(NAMES.group, "v1beta1", "LCluster")
STAMPED = {
    "requester": ALICE,
    "managers": [{"kind": "User", "name": ALICE}],
    "billing": {
        "costCenter": "1",
        "provenance": {
            "generation": 1,
            "effectiveAt": "2026-01-01T00:00:00Z",
            "source": "Explicit",
            "changedBy": ALICE,
        },
    },
}


def creation(spec: Json | None = None, name: str = "acme") -> AdmissionRequest:
    shown: Json = {"kind": "LCluster", "metadata": {"name": name}, "spec": spec or {}}
    return AdmissionRequest("r-1", GVK, "CREATE", UserInfo(ALICE), object=shown)


def paths(request: AdmissionRequest, **parts: Any) -> list[str]:
    return [error.path for error in validate(request, POLICY, context(**parts)).errors]


def test_the_creator_of_an_lcluster_is_its_requester_and_in_every_list() -> None:
    request = creation({"billing": {"costCenter": "1"}})
    after = patched(request.new, mutate(request, POLICY, context()).patch)["spec"]
    assert after["requester"] == ALICE
    for field in ("users", "managers", "sudoers"):
        assert [entry["name"] for entry in after[field]] == [ALICE]
    assert after["billing"]["provenance"]["changedBy"] == ALICE


def test_a_complete_lcluster_is_accepted() -> None:
    assert paths(creation(STAMPED)) == []


@pytest.mark.parametrize("name", ["ac-me", "a", "kube", "pvc", "A1", "a" * 21])
def test_an_invalid_lcluster_name_is_refused(name: str) -> None:
    assert paths(creation(STAMPED, name)) == ["metadata.name"]


def test_a_name_conflict_is_reported() -> None:
    (error,) = validate(
        creation(STAMPED), POLICY, context(name_conflict='"acme-" is the beginning of acme-x')
    ).errors
    assert "acme-x" in str(error)


def test_an_lcluster_without_an_editor_is_refused() -> None:
    assert paths(creation(STAMPED | {"managers": []})) == ["spec.managers"]


def test_a_change_of_the_requester_is_refused() -> None:
    old = creation(STAMPED).new
    new = old | {"spec": STAMPED | {"requester": "ben"}}
    request = AdmissionRequest("r-1", GVK, "UPDATE", UserInfo(ALICE), object=new, old_object=old)
    assert paths(request) == ["spec.requester"]


def test_an_update_may_suspend_an_lcluster() -> None:
    old = creation(STAMPED).new
    new = old | {"spec": STAMPED | {"suspend": "Closed"}}
    request = AdmissionRequest("r-1", GVK, "UPDATE", UserInfo(ALICE), object=new, old_object=old)
    assert paths(request) == []


def review(kind: str) -> bytes:
    group = NAMES.group.encode()
    return (
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", '
        b'"operation": "CREATE", "kind": {"group": "%s", "version": "v1beta1", "kind": "%s"}}}'
    ) % (group, kind.encode())


def test_a_review_of_another_kind_is_refused() -> None:
    assert decode_review(review("LCluster"), NAMES).kind == GVK
    with pytest.raises(ReviewError, match="LNamespace or LCluster"):
        decode_review(review("BillingRecord"), NAMES)


class Answers:
    """An API server that has some Namespaces and LClusters, or does not answer."""

    def __init__(self, namespaces: tuple[str, ...] = (), lclusters: tuple[str, ...] = ()) -> None:
        self.namespaces = namespaces
        self.lclusters = lclusters
        self.silent = False
        self.lists = 0

    async def list_metadata(self, path: str, **_: str) -> bytes:
        if self.silent:
            raise Unreachable("no answer")
        self.lists += 1
        names = self.namespaces if path == NAMESPACE.path() else ()
        items = [f'{{"metadata": {{"name": "{name}", "resourceVersion": "1"}}}}' for name in names]
        return f'{{"metadata": {{}}, "items": [{", ".join(items)}]}}'.encode()

    async def get(self, path: str) -> bytes:
        if path.rpartition("/")[2] not in self.lclusters:
            raise NotFound("not found")
        return b"{}"


async def conflict(answers: Answers, kind: str, name: str) -> str:
    return await ClusterPrefixes(answers, NAMES).conflict(kind, name)  # type: ignore[arg-type]


async def test_a_namespace_with_the_prefix_conflicts_with_an_lcluster() -> None:
    answers = Answers(namespaces=("acme-x", "other"))
    assert "namespaces acme-x" in await conflict(answers, "LCluster", "acme")
    assert await conflict(answers, "LCluster", "acm") == ""
    answers.silent = True
    assert await conflict(answers, "LCluster", "acme") == ""


async def test_one_listing_serves_the_names_of_a_burst_of_new_lclusters() -> None:
    """Each creation listed all Namespaces, of which every creation before had made four."""
    answers = Answers(namespaces=("other",))
    prefixes = ClusterPrefixes(answers, NAMES)  # type: ignore[arg-type]
    assert [await prefixes.conflict("LCluster", f"acme{n}") for n in range(9)] == [""] * 9
    assert answers.lists == 3  # Namespaces, LNamespaces and CustomResourceDefinitions


async def test_an_lcluster_that_exists_does_not_conflict_with_its_own_namespaces() -> None:
    """Whoever creates it again is told AlreadyExists by the API server."""
    answers = Answers(namespaces=("acme-default",), lclusters=("acme",))
    assert await conflict(answers, "LCluster", "acme") == ""


async def test_an_lcluster_conflicts_with_lnamespaces_of_its_prefix() -> None:
    answers = Answers(lclusters=("acme",))
    assert "LCluster acme" in await conflict(answers, "LNamespace", "acme-x")
    assert await conflict(answers, "LNamespace", "acme") == ""
    assert await conflict(answers, "LNamespace", "acm-x") == ""
