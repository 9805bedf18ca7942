"""Requests to the API server, each by kubectl as a subprocess.

They use raw paths where possible: then kubectl sends that request only, without discovery, which on
a cold cache takes longer than all the rest.

An LCluster may be served at a path of the gateway's address, which some versions of `kubectl --raw`
leave out. If an answer says that no LCluster was named, the path is read from the kubeconfig, and
remembered until the kubeconfig changes.
"""

from __future__ import annotations

from lnamespace.plugins.cluster.failures import OTHER_CONTEXT, hinted, remedy, without_policy
from lnamespace.plugins.cluster.logs import cut_log
from lnamespace.plugins.model.api_group import advised, group
from lnamespace.plugins.model.lnamespaces import LNAMESPACE, ResourceKind, resource
from lnamespace.plugins.runtime.documents import dumps, loads
from lnamespace.plugins.runtime.errors import KubectlError, OtherApiGroup, PluginError
from lnamespace.plugins.runtime.memory import LEADING, FileCache, connection_key
from lnamespace.plugins.runtime.processes import Process, executable
from lnamespace.plugins.runtime.terminal import printable_lines, say
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from lnamespace.plugins.model.subjects import Caller

ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
# kubectl's own defaults, said to it: the user's kuberc may have others, such as `output: wide` of
# `get`, and what answers one path refuses most of them.
DEFAULTS = {
    "get": (
        "--output=",
        "--selector=",
        "--watch=false",
        "--watch-only=false",
        "--output-watch-events=false",
    ),
    "create": ("--output=", "--selector=", "--edit=false", "--recursive=false"),
    "replace": ("--output=", "--recursive=false"),
}
ANSWER_SHOWN = 100  # characters to show of an answer that is not JSON
REFUSED = "Error from server ("  # and a reason, and a closing bracket
NO_SUCH_API = "the server could not find the requested resource"
BASE_PATHS = FileCache("base-paths", 6 * 3600)
UNNAMED = "no LCluster is named by the host or the path"  # the gateway's words
SERVER, VERBOSITY = "--server=", "--v="
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
# What kubectl says wherever that fails; asked at its path, the API server says why.
NO_WHOAMI = "the selfsubjectreviews API is not enabled"
TOO_OLD = "See 'kubectl auth -"  # behind kubectl's words about a command or flag it does not know
NEWER = "This kubectl is too old; kubectl 1.31 or later has all that the plugins need."


class Reply(NamedTuple):
    """The answer of kubectl."""

    code: int
    out: str
    err: str

    @property
    def reason(self) -> str:
        """Return the API server's reason for a failure, such as NotFound; else an empty text."""
        for line in self.err.splitlines():
            if line.startswith(REFUSED):
                return line.removeprefix(REFUSED).partition("):")[0]
        return ""

    @property
    def api_missing(self) -> bool:
        """Return whether the cluster does not know the resource at all."""
        return self.reason == "NotFound" and NO_SUCH_API in self.err

    def failure(self) -> KubectlError:
        """Return the failure: kubectl's message, and advice."""
        message = without_policy(self.err.strip()) or f"kubectl failed with exit code {self.code}"
        advice = remedy(self.err)
        return KubectlError(f"{message}\n{advice}" if advice else message, self.code)

    def document(self) -> Any:
        """Return the JSON object that was asked for.

        Raises
        ------
        PluginError
            When kubectl failed, in its own words; or when the answer is not JSON, such as the page
            of a proxy that asks for a login.

        """
        if self.code:
            raise self.failure()
        try:
            document = loads(self.out)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            start = " ".join(self.out.split())[:ANSWER_SHOWN] or "nothing"
            raise PluginError(f"the cluster did not answer with a Kubernetes object, but: {start}")
        return document


class Call(NamedTuple):
    """A kubectl that is running; several may at once.

    ``elsewhere`` is a function of the message of a failure. If the message shows that the path was
    wrong, it sends the request to the right one.
    """

    process: Process
    body: bytes
    elsewhere: Callable[[str], Call | None] | None = None
    logs: bool = False

    def reply(self) -> Reply:
        """Wait for the answer; kubectl's log is printed."""
        out, err, code = self.process.communicate(self.body)
        messages = err.decode("utf-8", "replace")
        if self.logs:
            messages, log = cut_log(messages)
            say(printable_lines(log.rstrip()))
        if code and self.elsewhere and (call := self.elsewhere(messages)):
            return call.reply()
        return Reply(code, out.decode("utf-8", "replace"), messages)


class Kubectl(NamedTuple):
    """The program kubectl, with the cluster and the identity that the user's flags name."""

    connection: tuple[str, ...] = ()

    def start(self, *arguments: str, body: object = None) -> Call:
        """Run kubectl in the background, with `body` as JSON on its standard input."""
        process = Process([executable(), *arguments, *self.connection], fed=body is not None)
        logs = any(flag.startswith(VERBOSITY) for flag in self.connection)
        return Call(process, b"" if body is None else dumps(body).encode(), logs=logs)

    def run(self, *arguments: str, body: object = None) -> Reply:
        """Run kubectl and wait for the answer."""
        return self.start(*arguments, body=body).reply()

    def start_get(self, path: str) -> Call:
        """Start a GET of one path."""
        return self.start_raw("get", path)

    def start_raw(self, verb: str, path: str, body: object = None) -> Call:
        """Begin to get, create or replace at one path.

        Some versions of kubectl put the path of the server's address in front of it, others do not.
        """
        base = base_path(self.connection)

        def elsewhere(message: str) -> Call | None:
            if base and (f'"{base}/' in message or NO_SUCH_API in message):
                BASE_PATHS.forget(_cluster(self.connection))  # this kubectl puts it in front
                return self._start_at(verb, path, body)
            if not base and UNNAMED in message and (found := self._find_base_path()):
                return self._start_at(verb, found + path, body)
            return None

        return self._start_at(verb, base + path, body)._replace(elsewhere=elsewhere)

    def _start_at(self, verb: str, path: str, body: object) -> Call:
        from_input = () if body is None else ("-f", "-")
        return self.start(verb, "--raw", path, *from_input, *DEFAULTS[verb], body=body)

    def _find_base_path(self) -> str:
        """Return the path of the server's address; empty if it has none."""
        given = [flag.removeprefix(SERVER) for flag in self.connection if flag.startswith(SERVER)]
        reply = None if given else self.configured("{.clusters[0].cluster.server}")
        server = reply.out.strip() if reply else given[-1]
        _, slashes, rest = server.partition("://")
        _, slash, path = rest.partition("/")
        base = f"{slash}{path}".rstrip("/") if slashes else ""
        if base:
            BASE_PATHS.remember(_cluster(self.connection), (base,))
        return base

    def configured(self, fields: str) -> Reply:
        """Ask for fields of the current context of the kubeconfig, as JSONPath."""
        return self.run("config", "view", "--minify", "-o", f"jsonpath={fields}")

    def start_whoami(self) -> Call:
        """Ask the API server for our user, which may differ from this machine's."""

        def plainly(message: str) -> Call | None:
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            return self.start_raw("create", WHOAMI, review) if NO_WHOAMI in message else None

        return self.start("auth", "whoami", "-o", "json")._replace(elsewhere=plainly)

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
        return self.start_raw("create", ACCESS_REVIEWS, review)


def base_path(connection: Sequence[str]) -> str:
    """Return the remembered base path of the server of the flags, without asking it."""
    known = BASE_PATHS.recall(_cluster(connection))
    return known[0] if known else ""


def _cluster(connection: Sequence[str]) -> str:
    return connection_key([flag for flag in connection if flag.startswith(LEADING)])


def allowed(reply: Reply) -> bool:
    """Return the answer to `start_may`."""
    return not reply.code and bool(reply.document().get("status", {}).get("allowed"))


def caller(reply: Reply) -> Caller:
    """Return the answer to `start_whoami`."""
    from lnamespace.plugins.model.subjects import Caller

    if reply.code and TOO_OLD in reply.err:
        raise KubectlError(f"{reply.err.strip()}\n{NEWER}", reply.code)
    info = reply.document().get("status", {}).get("userInfo", {})
    if not info.get("username"):
        raise PluginError("the API server did not say who you are; see kubectl auth whoami")
    return Caller(info["username"], tuple(info.get("groups") or ()))


def missing(
    reply: Reply, kubectl: Kubectl, name: str = "", kind: ResourceKind = LNAMESPACE
) -> PluginError:
    """Return the error for an object or a kind that could not be read.

    The API server answers Forbidden for an unknown API group to people without rights.
    """
    if reply.api_missing:
        error = PluginError(
            f"this cluster has no {kind.kind}s (API group {group()}). {OTHER_CONTEXT}"
        )
        return OtherApiGroup(error, kubectl.connection)
    if reply.reason == "NotFound":
        listing = "kubectl lns list" if kind == LNAMESPACE else f"kubectl get {resource(kind)}"
        error = PluginError(f'no {kind.kind} "{name}" (list yours: {advised(listing)})')
        return OtherApiGroup(error, kubectl.connection, name)
    if reply.reason == "Forbidden":
        error = KubectlError(hinted(str(reply.failure())), reply.code)
        return OtherApiGroup(error, kubectl.connection, name)
    return reply.failure()
