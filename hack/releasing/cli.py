"""The command line of hack/release."""

import argparse
import os
from pathlib import Path

from controlplane.console import ClusterError

from . import image, packages, signing, source
from .image import Image
from .process import ReleaseError, say
from .signing import Signer

STEPS = ("packages", "image", "sign")
DESCRIPTION = """\
Makes a release in dist/: what people install, and what they can check it by.

  packages   the wheel, the source package, the chart, and a bill of materials (CycloneDX) of
             the locked dependencies; the same bytes whenever they are made from one commit
  image      for amd64 and arm64, by docker buildx, buildah or podman
  sign       the checksums, the chart and a pushed image, by cosign
"""
EPILOG = """\
Without steps, all of them. docs/release.md says how to verify what was made.

examples:
  hack/release packages
  hack/release image --repository=registry.example.com/lnamespace
  hack/release sign --repository=registry.example.com/lnamespace --key=cosign.key
"""


def main(argv: list[str] | None = None) -> int:
    """Make a release; an error is a sentence on stderr and exit code 1."""
    chosen = _parser().parse_args(argv)
    try:
        _make(chosen)
    except (ReleaseError, ClusterError, OSError) as error:
        say(f"hack/release: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nhack/release: interrupted")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/release",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help="packages, image, sign [all]")
    parser.add_argument(
        "--dist",
        metavar="DIR",
        type=Path,
        default=source.REPOSITORY / "dist",
        help="where it is made (default: dist)",
    )
    parser.add_argument(
        "--repository",
        metavar="NAME",
        default="",
        help="push the image there; without it, it is a file in DIR",
    )
    parser.add_argument(
        "--base", metavar="IMAGE", default="", help="build with this image of Debian, by its digest"
    )
    parser.add_argument(
        "--key",
        metavar="KEY",
        default=os.environ.get("COSIGN_KEY", ""),
        help="sign with this key of cosign; without it, as who is logged in [COSIGN_KEY]",
    )
    parser.add_argument(
        "--signing-config",
        metavar="FILE",
        default="",
        help="sign with the services that this file of cosign's names, not with Sigstore's",
    )
    return parser


def _make(chosen: argparse.Namespace) -> None:
    steps = tuple(chosen.steps) or STEPS
    if unknown := sorted(set(steps) - set(STEPS)):
        raise ReleaseError(f"there is no step {unknown[0]!r}; there are {', '.join(STEPS)}")
    _check_tools(steps)
    made_from = source.read()
    if made_from.changed:
        if "sign" in steps:
            raise ReleaseError("a changed checkout is not signed: commit or undo the changes first")
        say("This checkout has changes that are in no commit: fine for a try, not for a release.")
    dist = chosen.dist.resolve()
    made = Image(made_from.version, chosen.repository, dist, chosen.base)
    if "packages" in steps:
        packages.make(made_from, dist)
    if "image" in steps:
        image.make(made_from, made)
    packages.write_sums(made_from.version, dist)
    if "sign" in steps:
        signing.sign(made, Signer(chosen.key, chosen.signing_config))
    print((dist / packages.SUMS).read_text(), end="")


def _check_tools(steps: tuple[str, ...]) -> None:
    """Report missing tools before minutes are spent."""
    if "image" in steps:
        image.available()
    if "sign" in steps:
        signing.check_tool()
