"""What people install, made as for a release and looked into."""

import hashlib
import json
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from lnamespace.plugins.__main__ import PROGRAMS

from tests.e2e.support.chart_text import parsed
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import REPOSITORY, run
from tests.e2e.support.people import People
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import eventually

pytestmark = pytest.mark.thorough

PLUGINS = tuple(PROGRAMS)
MEGABYTE = 10**6


def made(folder: Path) -> Path:
    run(sys.executable, "hack/release", "packages", "--dist", folder, timeout=300).ok()
    return folder


@pytest.fixture(scope="module")
def dist(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the packages. They need helm, which is there as soon as a cluster is."""
    assert cluster.environment
    return made(tmp_path_factory.mktemp("dist"))


def one(dist: Path, pattern: str) -> Path:
    [path] = dist.glob(pattern)
    return path


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(one(dist, "lnamespace-*.whl"))


def text(wheel: zipfile.ZipFile, name: str) -> str:
    [path] = [path for path in wheel.namelist() if path.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


@pytest.mark.thorough
def test_two_builds_produce_identical_files(dist: Path, tmp_path: Path) -> None:
    again = made(tmp_path)
    assert (again / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()


def test_the_checksums_cover_all_release_files(dist: Path) -> None:
    checked = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=dist).ok()
    files = {path.name for path in dist.glob("lnamespace*")}
    assert {line.partition(":")[0] for line in checked.splitlines()} == files
    assert len(files) == 9


def test_the_wheel_contains_the_package_and_no_tests(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top.partition("-")[0] for top in tops} == {"lnamespace"}
    assert not [name for name in names if "test" in name or "__pycache__" in name]
    package = REPOSITORY / "operator" / "lnamespace"
    modules = {str(path.relative_to(package.parent)) for path in package.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert "lnamespace/py.typed" in names


def test_the_wheel_declares_its_licence_and_contains_the_plugins(wheel: zipfile.ZipFile) -> None:
    assert "License-Expression: Apache-2.0\n" in text(wheel, "METADATA")
    assert text(wheel, "licenses/LICENSE") == (REPOSITORY / "LICENSE").read_text()
    assert "lnamespace = lnamespace.console:main\n" in text(wheel, "entry_points.txt")
    scripts = {path.rpartition("/")[2] for path in wheel.namelist() if "/scripts/" in path}
    assert scripts == set(PLUGINS)


def test_the_vet_command_of_the_wheel_works_without_the_repository(
    dist: Path, cluster: Cluster, tmp_path: Path
) -> None:
    uv = Path(sys.executable).with_name("uv")
    install = (uv, "pip", "install", "--no-deps", "--offline", "--target", tmp_path / "site")
    run(*install, one(dist, "lnamespace-*.whl"), env={"UV_CACHE_DIR": str(tmp_path / "cache")}).ok()
    (tmp_path / "elsewhere").mkdir()
    vet = (sys.executable, "-m", "lnamespace.cli", "vet")
    env = {**cluster.environment, "PYTHONPATH": str(tmp_path / "site")}
    said = run(*vet, env=env, cwd=tmp_path / "elsewhere").ok()
    assert f"Compared with {tmp_path}/site/lnamespace/vet/vetted/1." in said


def test_the_source_distribution_contains_the_sources_of_the_wheel(dist: Path) -> None:
    with tarfile.open(one(dist, "*[0-9].tar.gz")) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "operator/lnamespace/cli.py"} <= names
    assert any(name.startswith("operator/lnamespace/vet/vetted/1.") for name in names)


def test_the_chart_names_the_image_of_its_version(dist: Path, cluster: Cluster) -> None:
    chart = one(dist, "*.tgz")
    version = re.fullmatch(r"lnamespace-(.+)\.tgz", chart.name)
    assert version
    digest = f"sha256:{'0' * 64}"
    for flags, suffix in (((), ""), ((f"--set=image.digest={digest}",), f"@{digest}")):
        words = ("helm", "template", "lnamespace", chart, "--kube-version=1.36.3")
        template = cluster.run(*words, *flags).ok()
        deployments = [item for item in parsed(template) if item["kind"] == "Deployment"]
        containers = [item["spec"]["template"]["spec"]["containers"][0] for item in deployments]
        images = {container["image"] for container in containers}
        assert images == {f"lnamespace:{version[1]}{suffix}"}


def test_an_invalid_image_digest_is_refused(dist: Path, cluster: Cluster) -> None:
    flags = ("--set=image.digest=latest",)
    said = cluster.run("helm", "template", "lnamespace", one(dist, "*.tgz"), *flags).refused()
    assert "digest" in said


def test_the_sbom_lists_every_locked_dependency_with_its_hashes(dist: Path) -> None:
    bill = json.loads(one(dist, "*.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    ours = bill["metadata"]["component"]
    assert f"lnamespace-{ours['version']}.cdx.json" == one(dist, "*.cdx.json").name
    locked = (REPOSITORY / "requirements" / "run.txt").read_text()
    pinned = set(re.findall(r"^(\S+)==(\S+)", locked, re.MULTILINE))
    components = bill["components"]
    assert {(item["name"], item["version"]) for item in components} == pinned
    for item in components:
        hashes = [one for ref in item["externalReferences"] for one in ref["hashes"]]
        assert all(f"sha256:{entry['content']}" in locked for entry in hashes)
        assert hashes


# --- the kubectl plugins on their own


def by_pip(dist: Path, folder: Path) -> Path:
    """Return an environment with nothing in it but the plugins' wheel; nothing is fetched."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv").ok()
    python = folder / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index")
    run(*pip, "--disable-pip-version-check", one(dist, "lnamespace_*.whl")).ok()
    site = next((folder / "venv").rglob("site-packages"))
    assert {path.name.partition("-")[0] for path in site.iterdir()} == {
        "lnamespace",
        "lnamespace_plugins",
    }
    assert {path.name for path in (site / "lnamespace").iterdir()} == {"plugins"}
    assert sum(path.stat().st_size for path in site.rglob("*")) < 5 * MEGABYTE
    return folder / "venv" / "bin"


def as_one_file(dist: Path, folder: Path) -> Path:
    """Return the one file, under its names."""
    programs = folder / "bin"
    programs.mkdir()
    shutil.copy(one(dist, "*-plugins.pyz"), programs / "kubectl-lns")
    for name in set(PLUGINS) - {"kubectl-lns"}:
        (programs / name).symlink_to("kubectl-lns")
    return programs


def by_krew(dist: Path, folder: Path) -> Path:
    """Return what krew does by the manifests: check, unpack, copy what is named, and link it."""
    programs = folder / "bin"
    programs.mkdir()
    for file in dist.glob("*-krew-*.yaml"):
        manifest = yaml.safe_load(file.read_text())
        name, [platform] = manifest["metadata"]["name"], manifest["spec"]["platforms"]
        archive = dist / platform["uri"].rpartition("/")[2]
        assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
        store = folder / "store" / name
        with tarfile.open(archive) as tar:
            for entry in platform["files"]:
                tar.extract(entry["from"], store, filter="data")
        assert platform["bin"] == f"kubectl-{name}"
        (programs / f"kubectl-{name}").symlink_to(store / platform["bin"])
    return programs


@pytest.mark.parametrize("install", [by_pip, as_one_file, by_krew])
def test_the_separately_installed_plugins_work_on_a_real_cluster(
    install: Callable[[Path, Path], Path],
    dist: Path,
    cluster: Cluster,
    people: People,
    tenants: Tenants,
    rights: Rights,
    tmp_path: Path,
) -> None:
    programs, alice = install(dist, tmp_path), people.person("alice")
    kubectl = shutil.which("kubectl", path=cluster.environment["PATH"])
    assert kubectl
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "kubectl").symlink_to(kubectl)
    python = Path(sys.executable).resolve().parent
    env = {
        "PATH": f"{programs}:{tmp_path / 'only'}:{python}:/usr/bin:/bin",
        "KUBECONFIG": str(alice.kubeconfig),
        "HOME": str(tmp_path / "home"),
    }
    made = tenants.name("alone")
    create = ("create", "lns") if install is not by_krew else ("lns", "create")
    told = run("kubectl", *create, made, env=env).ok()
    assert told == f"lnamespace.tenancy.loblaw.digital/{made} created\n"
    assert made in run("kubectl", "lns", "list", env=env).ok()
    eventually(lambda: rights.sudoes(alice.who, made))
    for _ in range(2):  # the second is by what the first has found out
        got = run("kubectl", "sudo", "-n", made, "get", "rolebindings", "-o", "name", env=env).ok()
        assert "rolebinding.rbac.authorization.k8s.io/lnamespace-sudoers" in got


def test_each_plugin_file_is_smaller_than_5_megabytes(dist: Path) -> None:
    for pattern in ("lnamespace_plugins-*.whl", "*-plugins.pyz", "*-plugins.tar.gz"):
        assert one(dist, pattern).stat().st_size < 5 * MEGABYTE


def test_the_krew_manifests_have_no_placeholders(dist: Path) -> None:
    manifests = [yaml.safe_load(file.read_text()) for file in dist.glob("*-krew-*.yaml")]
    assert {manifest["metadata"]["name"] for manifest in manifests} == {"lns", "sudo"}
    for manifest in manifests:
        assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
        assert re.fullmatch(r"v\d+\.\d+\.\d+", manifest["spec"]["version"])
        assert "<" not in json.dumps(manifest)
        assert len(manifest["spec"]["shortDescription"]) <= 80
