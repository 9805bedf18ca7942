"""The command line of hack/cluster."""

import argparse
import os
import shlex
import signal
import sys
from pathlib import Path

from . import cluster
from .console import ClusterError, say
from .versions import REPOSITORY

VARIABLE = "LNAMESPACE_KUBERNETES"
DEFAULT_DIRECTORY = REPOSITORY / ".cluster" / "default"
DESCRIPTION = """\
A real Kubernetes control plane on this machine: etcd, kube-apiserver and
kube-controller-manager as ordinary processes on the loopback interface. No containers,
no nodes: everything that is API works, nothing runs in a pod.

  up     start what is not running, and wait until it is ready
  down   stop it and delete its folder, data included
  env    print the shell commands that point kubectl at it
"""
EXAMPLES = """\
examples:
  hack/cluster up                          start one
  eval "$(hack/cluster env)"               use it in this shell
  kubectl get namespaces
  hack/new-user.sh alice team-a            a user with a certificate, for KUBECONFIG
  hack/cluster up --dir /tmp/second        a second one beside it
  hack/cluster up --kubernetes 1.30 --dir .cluster/old     an older one; see docs/compatibility.md
  hack/cluster down                        stop it and forget it

The first `up` builds the executables (6 to 8 minutes on two processors) and keeps them in
~/.cache/lnamespace; LNAMESPACE_CACHE names another place. See docs/local-control-plane.md.
"""


def main() -> int:
    """Run one command; an error is a sentence on stderr and exit code 1."""
    arguments = _parser().parse_args()
    directory = Path(arguments.dir).resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that cleaning up happens
    try:
        if arguments.command == "up":
            _up(directory, arguments.kubernetes)
        else:
            {"down": _down, "env": _env}[arguments.command](directory)
    except (ClusterError, OSError) as error:
        say(f"hack/cluster: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nhack/cluster: interrupted")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/cluster",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=("up", "down", "env"))
    parser.add_argument(
        "--dir",
        default=str(DEFAULT_DIRECTORY),
        metavar="DIR",
        help="the cluster's folder: its data, logs and kubeconfig (default: .cluster/default)",
    )
    parser.add_argument(
        "--kubernetes",
        default=os.environ.get(VARIABLE) or None,
        metavar="VERSION",
        help=f"the minor version of a new cluster: 1.30, or 1.33 to 1.35 by emulation; the default "
        f"is the present one (${VARIABLE})",
    )
    return parser


def _up(directory: Path, kubernetes: str | None) -> None:
    cluster.up(directory, kubernetes)
    place = _shortest(directory)
    option = "" if directory == DEFAULT_DIRECTORY else f" --dir {shlex.quote(place)}"
    print(
        f"The control plane is up.\n"
        f'  use it:   eval "$(hack/cluster env{option})"\n'
        f"  then:     kubectl get namespaces\n"
        f"  logs:     {place}/logs\n"
        f"  stop it:  hack/cluster down{option}"
    )


def _shortest(directory: Path) -> str:
    """Return a folder as one would type it here."""
    here = Path.cwd()
    return str(directory.relative_to(here) if directory.is_relative_to(here) else directory)


def _down(directory: Path) -> None:
    say("Stopped and removed." if cluster.down(directory) else f"Nothing to stop in {directory}.")


def _env(directory: Path) -> None:
    sys.stdout.write(cluster.environment(directory))
