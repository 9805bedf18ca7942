"""Signatures, by cosign: with a key, or without one by who is logged in (keyless)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import image, packages
from .image import Image
from .process import ReleaseError, first_of, show


@dataclass(frozen=True)
class Signer:
    """The identity that signs, and the services it uses; where empty, cosign's defaults."""

    key: str = ""
    """A key's file or URL; if empty, the logged-in user signs (keyless)."""

    config: str = ""
    """A file that names a certificate authority, a log and clocks in place of Sigstore's."""

    @property
    def options(self) -> list[str]:
        """Return the options of cosign."""
        given = {"--key": self.key, "--signing-config": self.config}
        return ["--yes", *(f"{name}={value}" for name, value in given.items() if value)]


def sign(made: Image, signer: Signer) -> None:
    """Sign the checksums, the chart, and the image if it was pushed.

    Raises
    ------
    ReleaseError
        cosign is not here or fails, or there is nothing to sign.
    """
    check_tool()
    if not (made.dist / packages.SUMS).exists():
        raise ReleaseError(f"{made.dist} has nothing to sign: run `hack/release packages` first")
    for command in commands(made, signer):
        show(command, Path.cwd())  # which a key is relative to


def check_tool() -> None:
    """Check that cosign is installed.

    Raises
    ------
    ReleaseError
        cosign is not installed.
    """
    first_of([("cosign", "version")], "nothing here signs")


def commands(made: Image, signer: Signer) -> Iterator[list[str]]:
    """Yield the commands that sign the checksums of all files, the chart, and a pushed image."""
    how = signer.options
    for file in (made.dist / packages.SUMS, packages.chart_of(made.version, made.dist)):
        yield ["cosign", "sign-blob", *how, f"--bundle={signature_of(file)}", str(file)]
    if made.digest.exists():
        pushed = f"{made.repository}@{image.digest_in(made.digest)}"
        bill = packages.bill_of(made.version, made.dist)
        yield ["cosign", "sign", *how, pushed]
        yield ["cosign", "attest", *how, "--type=cyclonedx", f"--predicate={bill}", pushed]


def signature_of(file: Path) -> Path:
    """Return the file of a signature, with all that is needed to verify it."""
    return file.with_name(f"{file.name}.sigstore.json")
