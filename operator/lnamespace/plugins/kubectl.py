"""kubectl as a subprocess: the thin shell through which everything reaches the API server.

Requests go to raw paths where possible: kubectl then asks just that, without first discovering
which resources the cluster has, which on a cold cache costs more than all the rest.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any, NamedTuple

from lnamespace.plugins.errors import KubectlError, NotHere, PluginError
from lnamespace.plugins.lnamespaces import KIND, advised, group
from lnamespace.plugins.subjects import Caller

ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
REASON = re.compile(r"^Error from server \((\w+)\):", re.MULTILINE)
NO_SUCH_API = "the server could not find the requested resource"
NO_DOOR = (
    "LNamespaces can be neither created nor changed while their webhook does not answer. All else "
    "works as before. Try again in a minute, or tell your platform team."
)


def executable() -> str:
    """The kubectl to use."""
    return os.environ.get("KUBECTL") or "kubectl"


class Reply(NamedTuple):
    """What kubectl answered."""

    code: int
    out: str
    err: str

    @property
    def reason(self) -> str:
        """The API server's reason for a failure, such as NotFound; empty for another failure."""
        found = REASON.search(self.err)
        return found[1] if found else ""

    @property
    def api_missing(self) -> bool:
        """Whether the cluster does not know the resource at all."""
        return self.reason == "NotFound" and NO_SUCH_API in self.err

    def failure(self) -> KubectlError:
        """The failure in kubectl's own words."""
        told = self.err.strip() or f"kubectl failed with exit code {self.code}"
        return KubectlError(f"{told}\n{NO_DOOR}" if no_door(self.err) else told, self.code)

    def document(self) -> Any:
        """The JSON that was asked for, or kubectl's error."""
        if self.code:
            raise self.failure()
        return json.loads(self.out)


def no_door(err: str) -> bool:
    """Whether the API server could not ask our webhook."""
    return "failed calling webhook" in err and group() in err


def elsewhere(err: str) -> bool:
    """Whether LNamespaces may be in another API group than the one that was asked.

    kubectl knows no such kind; or it still knows one that is gone, which is then forbidden.
    """
    unknown = f'no matches for kind "{KIND}" in version "{group()}/'
    return unknown in err or f"lnamespaces.{group()} is forbidden" in err


class Call(NamedTuple):
    """A kubectl that is running; several may at once."""

    process: subprocess.Popen[bytes]
    body: bytes | None

    def reply(self) -> Reply:
        """Wait for the answer."""
        out, err = self.process.communicate(self.body)
        code = exit_code(self.process.returncode)
        return Reply(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def exit_code(returncode: int) -> int:
    """The exit code as shells report it: 128 and more for a process that a signal ended."""
    return 128 - returncode if returncode < 0 else returncode


class Kubectl(NamedTuple):
    """kubectl, pointed at the cluster and the identity that the user's flags name."""

    connection: tuple[str, ...] = ()

    def start(self, *arguments: str, body: object = None) -> Call:
        """Run kubectl in the background, with `body` as JSON on its standard input."""
        data = None if body is None else json.dumps(body).encode()
        process = spawn(
            [executable(), *arguments, *self.connection],
            stdin=our_stdin() if data is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return Call(process, data)

    def run(self, *arguments: str, body: object = None) -> Reply:
        """Run kubectl and wait for the answer."""
        return self.start(*arguments, body=body).reply()

    def start_get(self, path: str) -> Call:
        """Ask for one path."""
        return self.start("get", "--raw", path)

    def start_whoami(self) -> Call:
        """Ask the API server who we are; the login on this machine means nothing to it."""
        return self.start("auth", "whoami", "-o", "json")

    def as_yaml(self, manifest: object) -> str:
        """Write an object as YAML: a dry run of kubectl prints what it is given."""
        flags = ("--dry-run=client", "--validate=false", "-o", "yaml")
        reply = self.run("create", *flags, "-f", "-", body=manifest)
        if reply.code:
            raise reply.failure()
        return reply.out

    def may(self, **attributes: str) -> bool:
        """Ask whether we may do something; a question that cannot be asked counts as no."""
        return allowed(self.start_may(**attributes).reply())

    def start_may(self, **attributes: str) -> Call:
        """Begin to ask whether we may do something; `allowed` reads the answer."""
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        return self.start("create", "--raw", ACCESS_REVIEWS, "-f", "-", body=review)


def allowed(reply: Reply) -> bool:
    """The answer to `start_may`."""
    return not reply.code and bool(json.loads(reply.out).get("status", {}).get("allowed"))


def caller(reply: Reply) -> Caller:
    """The answer to `start_whoami`."""
    info = reply.document().get("status", {}).get("userInfo", {})
    if not info.get("username"):
        raise PluginError("the API server did not say who you are; see kubectl auth whoami")
    return Caller(info["username"], tuple(info.get("groups") or ()))


def missing(reply: Reply, kubectl: Kubectl, name: str = "") -> PluginError:
    """Why LNamespaces, or the one of that name, could not be read.

    Of an API group that does not exist, who has no rights is told that it is forbidden.
    """
    if reply.api_missing:
        told = PluginError(f"this cluster has no LNamespaces (API group {group()})")
        return NotHere(told, kubectl.connection)
    if reply.reason == "NotFound":
        told = PluginError(f'no LNamespace "{name}" (list yours: {advised("kubectl lns list")})')
        return NotHere(told, kubectl.connection, name)
    if reply.reason == "Forbidden":
        return NotHere(reply.failure(), kubectl.connection, name)
    return reply.failure()


def our_stdin() -> int | None:
    """What our own questions read from: the terminal, or nothing.

    A credential plugin may ask for a password there; a pipe or a file is for the user's command.
    """
    return None if os.isatty(0) else subprocess.DEVNULL


def spawn(
    command: list[str], stdin: int | None, stdout: int | None, stderr: int | None
) -> subprocess.Popen[bytes]:
    """Start a process; a missing kubectl is told in words."""
    try:
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr)
    except FileNotFoundError:
        raise PluginError(
            f"{command[0]} was not found; install kubectl or set KUBECTL to it"
        ) from None
    except OSError as error:
        raise PluginError(f"{command[0]}: {error.strerror}") from None
