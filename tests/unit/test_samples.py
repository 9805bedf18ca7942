"""The samples in the documentation are what the code makes."""

from pathlib import Path

import pytest
import yaml
from lnamespace.access.conventions import Conventions
from lnamespace.cli import main
from lnamespace.commands.samples import sample_manifests

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "resource-samples"

OBJECTS = {
    "self-impersonator-cluster-role.yaml": "ClusterRole",
    "self-impersonator-cluster-role-binding.yaml": "ClusterRoleBinding",
    "sudoer-impersonator-cluster-role.yaml": "ClusterRole",
    "sudoer-impersonator-cluster-role-binding.yaml": "ClusterRoleBinding",
    "sudoer-group-cluster-admin-role-binding.yaml": "RoleBinding",
    "sudoer-lnamespace-edit-cluster-role.yaml": "ClusterRole",
    "sudoer-lnamespace-edit-cluster-role-binding.yaml": "ClusterRoleBinding",
}


def test_the_sample_files_are_the_rendered_output_of_the_code(tmp_path: Path) -> None:
    assert main(["render", "samples", str(tmp_path)]) == 0
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert kept == made, "run `make crds`"


def test_a_sample_exists_for_each_object_of_the_design() -> None:
    kinds = {name: manifest["kind"] for name, manifest in sample_manifests(Conventions()).items()}
    assert OBJECTS.items() <= kinds.items()
    assert kinds.keys() - OBJECTS.keys() == {"lnamespace.yaml", "lnamespace-v1alpha1.yaml"}


def test_a_sample_binding_refers_to_the_sample_role() -> None:
    made = sample_manifests(Conventions())
    for name in OBJECTS:
        role = made.get(name.replace("-binding", ""))
        if name.endswith("cluster-role-binding.yaml"):
            assert role is not None
            assert made[name]["roleRef"]["name"] == role["metadata"]["name"]


def test_another_instance_has_samples_of_its_own(tmp_path: Path) -> None:
    argv = ["render", "samples", str(tmp_path), "--api-group-suffix", "example.com"]
    assert main(argv) == 0
    assert not any("loblaw.digital" in path.read_text() for path in tmp_path.iterdir())
    lns = yaml.safe_load((tmp_path / "lnamespace.yaml").read_text())
    assert lns["apiVersion"] == "tenancy.example.com/v1beta1"
    role = yaml.safe_load((tmp_path / "sudoer-lnamespace-edit-cluster-role.yaml").read_text())
    assert role["rules"][0]["apiGroups"] == ["tenancy.example.com"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["render", "samples", "/proc/nowhere"], "cannot be written"),
    ],
)
def test_an_unwritable_samples_directory_is_an_error(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 1
    assert said in capsys.readouterr().err
