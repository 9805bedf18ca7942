"""The image, for both architectures, by whichever builder is here."""

import json
import platform
from dataclasses import dataclass
from pathlib import Path

from .process import ReleaseError, first_of, show
from .source import Source

PLATFORMS = "linux/amd64,linux/arm64"
BUILDERS = (("docker", "buildx", "inspect"), ("buildah", "info"), ("podman", "info"))
"""The programs that build images, each with a probe: docker is often there without an engine."""


@dataclass(frozen=True)
class Image:
    """An image to build: pushed to ``repository``, or kept as an OCI archive if that is empty."""

    version: str
    repository: str
    dist: Path
    base: str = ""
    """Another image in place of Debian's, such as one by its digest."""

    @property
    def name(self) -> str:
        """Return the name that the chart uses."""
        return f"{self.repository or 'lnamespace'}:{self.version}"

    @property
    def archive(self) -> Path:
        """Return the archive of an image that is not pushed; `skopeo` and `podman load` read it."""
        return self.dist / f"lnamespace-{self.version}-image.tar"

    @property
    def digest(self) -> Path:
        """Return the file with the digest of the pushed image."""
        return self.dist / f"lnamespace-{self.version}-image.digest"


def make(made_from: Source, image: Image) -> None:
    """Build the image, and push or keep it.

    Raises
    ------
    ReleaseError
        No builder is here, or it fails, or it pushed nothing.
    """
    builder = available()
    image.dist.mkdir(parents=True, exist_ok=True)
    for leftover in (image.archive, image.digest):
        leftover.unlink(missing_ok=True)
    for command in commands(builder, image, made_from.epoch):
        show(command, made_from.folder)
    check_pushed(image)


def check_pushed(image: Image) -> None:
    """Check that the image was pushed: buildah 1.28 fails with exit code 0.

    Raises
    ------
    ReleaseError
        There is no digest of the image.
    """
    if image.repository and not (image.digest.exists() and image.digest.read_text().strip()):
        raise ReleaseError(
            f"{image.name} was not pushed: see whether you are logged in to its registry, "
            "and whether that speaks HTTPS"
        )


def available() -> str:
    """Return the builder that is installed.

    Raises
    ------
    ReleaseError
        No builder is installed.
    """
    return first_of(BUILDERS, "nothing here builds images")


def commands(builder: str, image: Image, epoch: int) -> list[list[str]]:
    """Return the commands that build the image, in order."""
    base = [f"--build-arg=DEBIAN={image.base}"] if image.base else []
    if builder == "docker":
        build = ["docker", "buildx", "build", "--platform", PLATFORMS, *base]
        return [[*build, f"--build-arg=SOURCE_DATE_EPOCH={epoch}", *_of_docker(image), "."]]
    here = f"--build-arg=BUILDPLATFORM={_platform()}"  # which older ones do not set by themselves
    build = [builder, "build", "--platform", PLATFORMS, here, *base, "--timestamp", str(epoch)]
    return [
        [builder, "manifest", "create", "--amend", image.name],
        [builder, "manifest", "rm", image.name],  # what is left of an earlier run
        [*build, "--manifest", image.name, "."],
        [builder, "manifest", "push", "--all", *_of_manifest(image)],
    ]


def digest_in(file: Path) -> str:
    """Return the digest of the pushed image, as the builder wrote it."""
    text = file.read_text().strip()
    return str(json.loads(text)["containerimage.digest"]) if text.startswith("{") else text


def _platform() -> str:
    """Return the platform of this machine, as images name it."""
    machine = platform.machine()
    names = {"x86_64": "amd64", "aarch64": "arm64"}
    return f"linux/{names.get(machine, machine)}"


def _of_docker(image: Image) -> list[str]:
    if image.repository:
        return ["--push", f"--tag={image.name}", f"--metadata-file={image.digest}"]
    return [f"--output=type=oci,dest={image.archive},name={image.name}"]


def _of_manifest(image: Image) -> list[str]:
    if image.repository:
        return [f"--digestfile={image.digest}", image.name, f"docker://{image.name}"]
    return [image.name, f"oci-archive:{image.archive}:{image.version}"]
