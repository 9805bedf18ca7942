"""How a release is made: what is run, what must agree, what is the same each time."""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from releasing import archives, image, signing, source
from releasing.image import Image
from releasing.process import ReleaseError, first_of
from releasing.signing import Signer

ROOT = Path(__file__).resolve().parents[2]
KEPT = Image("1.2.3", "", Path("/dist"))
PUSHED = Image("1.2.3", "registry.example.com/lnamespace", Path("/dist"))


def flat(commands: list[list[str]]) -> list[str]:
    return [" ".join(command) for command in commands]


def test_docker_builds_both_architectures_into_a_single_archive() -> None:
    [command] = flat(image.commands("docker", KEPT, 7))
    assert command == (
        "docker buildx build --platform linux/amd64,linux/arm64 --build-arg=SOURCE_DATE_EPOCH=7 "
        "--output=type=oci,dest=/dist/lnamespace-1.2.3-image.tar,name=lnamespace:1.2.3 ."
    )


def test_docker_pushes_and_writes_the_digest() -> None:
    [command] = flat(image.commands("docker", PUSHED, 7))
    assert "--push --tag=registry.example.com/lnamespace:1.2.3" in command
    assert command.endswith("--metadata-file=/dist/lnamespace-1.2.3-image.digest .")


@pytest.mark.parametrize("builder", ["buildah", "podman"])
def test_buildah_and_podman_build_a_manifest_and_push_all_architectures(builder: str) -> None:
    build, push = flat(image.commands(builder, PUSHED, 7))[-2:]
    name = "registry.example.com/lnamespace:1.2.3"
    assert build.startswith(f"{builder} build --platform linux/amd64,linux/arm64 ")
    assert " --timestamp 7 " in build
    assert build.endswith(f"--manifest {name} .")
    assert push.startswith(f"{builder} manifest push --all --digestfile=")
    assert push.endswith(f"{name} docker://{name}")


@pytest.mark.parametrize("builder", [probe[0] for probe in image.BUILDERS])
def test_the_base_image_can_be_replaced_by_digest(builder: str) -> None:
    pinned = Image("1.2.3", "", Path("/dist"), base="debian@sha256:00")
    commands = flat(image.commands(builder, pinned, 7))
    assert sum("--build-arg=DEBIAN=debian@sha256:00" in command for command in commands) == 1


@pytest.mark.parametrize(
    "written", ["sha256:12\n", '{"containerimage.digest": "sha256:12", "image.name": "x"}']
)
def test_the_digest_is_read_from_the_output_of_each_builder(written: str, tmp_path: Path) -> None:
    file = tmp_path / "digest"
    file.write_text(written)
    assert image.digest_in(file) == "sha256:12"


@pytest.mark.parametrize("written", [None, ""])
def test_a_silently_failed_push_is_an_error(written: str | None, tmp_path: Path) -> None:
    """buildah 1.28 ends with exit code 0 when the registry does not answer."""
    pushed = Image("1.2.3", PUSHED.repository, tmp_path)
    if written is not None:
        pushed.digest.write_text(written)
    with pytest.raises(ReleaseError, match="was not pushed"):
        image.check_pushed(pushed)
    pushed.digest.write_text("sha256:12\n")
    image.check_pushed(pushed)
    image.check_pushed(Image("1.2.3", "", tmp_path))


def test_the_checksums_and_the_chart_are_signed() -> None:
    assert flat(list(signing.commands(KEPT, Signer("cosign.key")))) == [
        f"cosign sign-blob --yes --key=cosign.key --bundle=/dist/{name}.sigstore.json /dist/{name}"
        for name in ("SHA256SUMS", "lnamespace-1.2.3.tgz")
    ]


def test_signing_without_a_key_uses_no_key_option() -> None:
    assert all("--key" not in command for command in flat(list(signing.commands(KEPT, Signer()))))


def test_a_signing_configuration_is_passed_to_every_signature() -> None:
    commands = flat(list(signing.commands(KEPT, Signer("cosign.key", "signing.json"))))
    assert all("--key=cosign.key --signing-config=signing.json" in one for one in commands)


def test_a_pushed_image_is_signed_by_digest_and_attested_with_its_sbom(tmp_path: Path) -> None:
    made = Image("1.2.3", PUSHED.repository, tmp_path)
    made.digest.write_text("sha256:12")
    *_, signed, attested = flat(list(signing.commands(made, Signer())))
    assert signed == "cosign sign --yes registry.example.com/lnamespace@sha256:12"
    assert attested.startswith("cosign attest --yes --type=cyclonedx --predicate=")


def test_both_packages_install_the_same_plugins() -> None:
    both = (ROOT / "pyproject.toml", ROOT / "plugins" / "pyproject.toml")
    tools = [tomllib.loads(file.read_text())["tool"]["setuptools"] for file in both]
    scripts = [[Path(path).name for path in tool["script-files"]] for tool in tools]
    assert scripts[0] == scripts[1]
    assert scripts[0] == sorted(path.name for path in (ROOT / "plugins" / "bin").iterdir())


def test_all_files_state_the_same_version() -> None:
    assert len(set(source.versions(ROOT).values())) == 1


@pytest.mark.parametrize("key", ["version", "appVersion"])
def test_a_version_that_differs_in_a_file_stops_the_release(key: str, tmp_path: Path) -> None:
    chart = tmp_path / "charts" / "lnamespace" / "Chart.yaml"
    chart.parent.mkdir(parents=True)
    text = (ROOT / "charts" / "lnamespace" / "Chart.yaml").read_text()
    chart.write_text(re.sub(rf"^{key}: .*$", f'{key}: "9.9.9"', text, flags=re.MULTILINE))
    (tmp_path / "plugins").mkdir()
    for project in ("pyproject.toml", "plugins/pyproject.toml"):
        shutil.copy(ROOT / project, tmp_path / project)
    with pytest.raises(ReleaseError, match=rf"must be one version.*Chart.yaml {key} 9\.9\.9"):
        source.read(tmp_path)


def archive(path: Path, names: list[str], mtime: int) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.uid, entry.uname = 3, mtime, mtime, f"user{mtime}"
            tar.addfile(entry, io.BytesIO(b"abc"))
    return path


def test_a_normalized_archive_is_independent_of_time_order_and_owner(tmp_path: Path) -> None:
    one = archive(tmp_path / "one.tgz", ["a", "b/c"], 1)
    other = archive(tmp_path / "other.tgz", ["b/c", "a"], 2)
    assert one.read_bytes() != other.read_bytes()
    for path in (one, other):
        archives.settle(path, 7)
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as tar:
        assert [(entry.name, entry.mtime, entry.uid) for entry in tar] == [
            ("a", 7, 0),
            ("b/c", 7, 0),
        ]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("image", "nothing here builds images: install docker or buildah or podman"),
        ("sign", "nothing here signs: install cosign"),
        ("bake", "there is no step 'bake'; there are packages, image, sign"),
    ],
)
def test_missing_tools_are_reported_before_any_step_runs(
    step: str, said: str, tmp_path: Path
) -> None:
    command = (sys.executable, ROOT / "hack" / "release", "packages", step, "--dist", tmp_path)
    env = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_tool_that_is_there_and_does_not_work_says_why() -> None:
    """A docker whose daemon was stopped was told to be installed."""
    probes = (("false",), (sys.executable, "-c", "raise SystemExit('is the daemon running?')"))
    with pytest.raises(ReleaseError, match=r"start one of them, or(.|\n)*is the daemon running"):
        first_of(probes, "nothing here builds images")


def test_the_image_contains_every_directory_of_the_package() -> None:
    """The programs of the plugins were missing: it could not be built."""
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {str(Path(program).parent) for program in package["script-files"]}
    folders |= set(package["packages"]["find"]["where"])
    copied = re.findall(r"^COPY (\S+) ", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}
    assert folders <= set(copied)
    assert folders <= sent


def test_the_image_runs_as_the_user_of_the_chart() -> None:
    chart = (ROOT / "charts" / "lnamespace" / "values.yaml").read_text()
    user = re.search(r"runAsUser: (\d+)", chart)
    assert user
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert f"USER {user[1]}:{user[1]}\n" in dockerfile
    last_stage = dockerfile[dockerfile.rindex("\nFROM ") :]
    assert last_stage.startswith("\nFROM scratch\n")
    assert "RUN" not in last_stage
