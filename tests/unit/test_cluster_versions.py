"""Which Kubernetes hack/cluster runs, and what it builds and tells it for that."""

import re

import pytest
from controlplane import binaries, golang
from controlplane.cli import main
from controlplane.console import ClusterError
from controlplane.versions import EMULATED, OLDEST, PRESENT, pinned, release

ALL = (pinned(OLDEST).minor, *EMULATED, pinned().minor)


def test_the_present_version_is_the_default_and_needs_no_flags() -> None:
    assert release() == release(pinned().minor)
    assert release().versions.folder == PRESENT
    assert release().flags == ()


@pytest.mark.parametrize("name", ALL)
def test_a_release_has_the_name_by_which_it_is_chosen(name: str) -> None:
    assert release(name).name == name


@pytest.mark.parametrize(("name", "before"), [("1.33", "1.33"), ("1.34", "1.33"), ("1.35", "1.34")])
def test_intermediate_versions_are_emulated_and_compatible_with_the_previous(
    name: str, before: str
) -> None:
    chosen = release(name)
    assert chosen.versions == pinned()
    assert chosen.flags == (f"--emulated-version={name}", f"--min-compatibility-version={before}")


def test_the_oldest_version_is_built_from_its_own_module() -> None:
    oldest = release("1.30")
    assert oldest.versions.folder == OLDEST
    assert oldest.versions.kubernetes.startswith("1.30.")
    assert oldest.flags == ()
    built = {package.name for package in golang.packages(oldest.versions)}
    assert built == {"kube-apiserver", "kube-controller-manager", "kubectl"}
    assert {package.name for package in golang.packages(pinned())} == {*built, "etcd", "helm"}


@pytest.mark.parametrize("name", ["1.29", "1.37", "1.3", "v1.30", "latest"])
def test_an_unknown_version_is_refused_with_a_list_of_known_versions(name: str) -> None:
    with pytest.raises(ClusterError, match=re.escape(", ".join(ALL))):
        release(name)


def test_each_build_is_stamped_with_its_own_version() -> None:
    for versions in (pinned(), pinned(OLDEST)):
        flags = golang.linker_flags(versions)
        assert f"gitVersion=v{versions.kubernetes} " in flags
        assert f"gitMinor={versions.minor.split('.')[1]} " in flags
        assert ("helm.sh" in flags) is (versions.helm is not None)


def test_each_module_has_its_own_cache_key() -> None:
    assert binaries.cache_key(pinned()).startswith(f"v{pinned().kubernetes}-")
    assert binaries.cache_key(pinned(OLDEST)).startswith(f"v{pinned(OLDEST).kubernetes}-")


def test_all_modules_of_kubernetes_are_of_one_release() -> None:
    """A forgotten `replace` would build one version's server with another's library."""
    for folder in (PRESENT, OLDEST):
        text, own = (folder / "go.mod").read_text(), pinned(folder).kubernetes
        replaced = re.findall(r"(k8s\.io/\S+) => (\S+) v(\S+)", text)
        assert len(replaced) > 25
        assert {(to, at) for _, to, at in replaced} == {
            (name, own.replace("1.", "0.", 1)) for name, _, _ in replaced
        }


def test_up_reports_the_versions_that_can_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    monkeypatch.setattr("sys.argv", ["hack/cluster", "up", "--dir", str(tmp_path)])
    monkeypatch.setenv("LNAMESPACE_KUBERNETES", "1.12")
    assert main() == 1
    assert "Kubernetes '1.12' cannot be run here: choose one of 1.30, " in capsys.readouterr().err
