"""The samples of the documentation, as somebody tries them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import Api, Object, lns_path, rbac_path
from tests.e2e.support.commands import REPOSITORY
from tests.e2e.support.people import People
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import eventually

FOLDER = REPOSITORY / "docs" / "resource-samples"
SAMPLE, OLDER = FOLDER / "lnamespace.yaml", FOLDER / "lnamespace-v1alpha1.yaml"
ALICE = "alice@example.com"
OBJECTS = sorted(path for path in FOLDER.iterdir() if path not in (SAMPLE, OLDER))


@pytest.fixture(scope="module")
def sample(people: People, tenants: Tenants, rights: Rights) -> Iterator[str]:
    """Yield the LNamespace of the sample, made by one of those whom it names."""
    alice = people.person(ALICE)
    alice.kubectl("create", "-f", str(SAMPLE)).ok()
    name = yaml.safe_load(SAMPLE.read_text())["metadata"]["name"]
    tenants.ready(name)
    eventually(lambda: rights.edits(alice.who, name))
    yield name
    tenants.delete(name)
    eventually(lambda: tenants.admin.find(lns_path(name)) is None)


def test_the_sample_of_the_older_version_can_be_created(people: People) -> None:
    create = ("create", "--dry-run=server", "-o", "yaml", "-f", str(OLDER))
    made = yaml.safe_load(people.person(ALICE).kubectl(*create).ok())
    asked = yaml.safe_load(OLDER.read_text())
    assert made["apiVersion"] == asked["apiVersion"]
    assert made["spec"]["billing"] == asked["spec"]["billing"]
    assert made["spec"]["requester"] == ALICE


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("sample")
def test_the_created_objects_match_the_documented_samples(path: Path, admin: Api) -> None:
    shown = yaml.safe_load(path.read_text())
    meta = shown["metadata"]
    plural = f"{shown['kind'].lower()}s"
    found = admin.get(rbac_path(plural, meta["name"], meta.get("namespace", "")))
    assert told(found) == told(shown)


def told(manifest: Object) -> Object:
    """Return what a sample can say: not the UIDs."""
    meta = manifest["metadata"]
    owners = [reference | {"uid": ""} for reference in meta["ownerReferences"]]
    parts = {key: manifest[key] for key in ("rules", "roleRef", "subjects") if key in manifest}
    return parts | {
        "labels": meta["labels"],
        "annotations": meta.get("annotations"),
        "owners": owners,
    }


@pytest.mark.usefixtures("sample")
def test_the_sample_of_the_older_version_keeps_expiry_times(
    people: People, tenants: Tenants
) -> None:
    alice, name = people.person(ALICE), yaml.safe_load(SAMPLE.read_text())["metadata"]["name"]
    before = tenants.get(name)["spec"]
    assert before["users"][-1]["expiresAt"]
    alice.kubectl("replace", "-f", str(OLDER)).ok()
    assert tenants.get(name)["spec"] == before
