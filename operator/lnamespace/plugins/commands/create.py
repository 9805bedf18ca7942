"""`kubectl create lns` and `kubectl create lcluster`: usable when the command returns."""

from __future__ import annotations

import os
import sys

from lnamespace.plugins.commands.entry import INTERRUPTED, leave, run
from lnamespace.plugins.model.lnamespaces import (
    LCLUSTER,
    LNAMESPACE,
    ResourceKind,
    kind_of,
    read_name,
)
from lnamespace.plugins.runtime.flags import CREATE_CLUSTER_FLAGS, CREATE_FLAGS, dry_run, parse
from lnamespace.plugins.runtime.processes import Process, executable
from lnamespace.plugins.runtime.terminal import say
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from lnamespace.plugins.commands.creation import Creation
    from lnamespace.plugins.runtime.flags import Arguments

# All other modules are imported while kubectl starts, which takes longer.

STRICT = "; if you choose to ignore these errors, turn validation off with --validate=false"


def main() -> int:
    """Run the console script of LNamespaces."""
    return leave(run(create_lnamespace, "kubectl create lns"))


def main_lcluster() -> int:
    """Run the console script of LClusters."""
    return leave(run(create_lcluster, "kubectl create lcluster"))


def create_lnamespace(argv: list[str]) -> int:
    """Create an LNamespace, then wait until its namespace can be used."""
    arguments = parse(argv, CREATE_FLAGS)
    if arguments.given("help"):
        from lnamespace.plugins.help.create import CREATE

        print(CREATE, end="")
        return 0
    first = next(iter(arguments.words), "")
    if kind_of(first) == LCLUSTER:  # kubectl lns create lc/NAME
        words = (read_name(first, LCLUSTER), *arguments.words[1:])
        return create_object(arguments._replace(words=words), LCLUSTER)
    return create_object(arguments, LNAMESPACE)


def create_lcluster(argv: list[str]) -> int:
    """Create an LCluster, then wait until a context of the kubeconfig leads to it."""
    arguments = parse(argv, CREATE_CLUSTER_FLAGS)
    if arguments.given("help"):
        from lnamespace.plugins.help.create import CREATE_LCLUSTER

        print(CREATE_LCLUSTER, end="")
        return 0
    return create_object(arguments, LCLUSTER)


def create_object(arguments: Arguments, kind: ResourceKind) -> int:
    """Create an object of a kind, then wait."""
    process = start(arguments)
    try:
        creation, body = _read(arguments, kind)
    except BaseException:  # it has been told nothing yet
        process.kill()
        process.wait()
        raise
    code = submit(process, creation, body)
    for note in () if code else creation.notes:
        say(note)
    if code or not creation.wait or creation.dry_run != "none":
        return code
    return wait(creation, arguments)


def start(arguments: Arguments) -> Process:
    """Start `kubectl create`, whose messages and exit code are the user's."""
    how = dry_run(arguments)
    command = [executable(), "create", "-f", "-", f"--dry-run={how}"]
    # Said even where it is kubectl's default: the user's kuberc may have another one.
    command += (f"--output={arguments.one('output')}", "--selector=", "--edit=false")
    if how == "client":  # else it asks the API server twice whether that could check the object
        command.append("--validate=false")
    return Process([*command, *arguments.connection], fed=True, shows=True)


def _read(arguments: Arguments, kind: ResourceKind) -> tuple[Creation, bytes]:
    """Parse the command line; return it and the object to send."""
    from datetime import UTC, datetime

    from lnamespace.plugins.commands.creation import read, requested
    from lnamespace.plugins.runtime.documents import dumps

    creation = read(arguments, datetime.now(UTC), kind)
    return creation, dumps(requested(creation)).encode()


def submit(process: Process, creation: Creation, body: bytes) -> int:
    """Submit the object by kubectl."""
    from lnamespace.plugins.cluster.failures import OTHER_CONTEXT, elsewhere, hinted, remedy
    from lnamespace.plugins.cluster.kubectl import Kubectl, Reply
    from lnamespace.plugins.model.api_group import group
    from lnamespace.plugins.runtime.errors import KubectlError, OtherApiGroup

    _, err, code = process.communicate(body, _print_messages)
    said = err.decode("utf-8", "replace")
    if code and elsewhere(said):
        cleaned = _without_plumbing(said).strip()
        if NO_KIND in said:
            cleaned = (
                f"error: this cluster has no {creation.kind.kind}s (API group {group()}). "
                f"{OTHER_CONTEXT}"
            )
        raise OtherApiGroup(KubectlError(hinted(cleaned), code), creation.connection)
    if code and not said.strip():  # kubectl was killed, say
        raise Reply(code, "", said).failure()
    if code and (advice := remedy(said)):
        say(advice)
    elif code and UNKNOWN in said:
        reply = Kubectl(creation.connection).start_get("/version").reply()
        if reply.code:
            raise reply.failure()
        say(_without_plumbing(said).strip())
    return code


PLUMBING = (
    'error when creating "STDIN": ',
    'error validating "STDIN": ',
    'unable to recognize "STDIN": ',
    "error validating data: failed to download openapi: ",
    STRICT,
)
LOG = "memcache.go:"  # of kubectl's discovery, which says the same as the error behind it
NO_KIND = "no matches for kind "
UNKNOWN = "failed to download openapi: unknown"  # all that kubectl says where --as is refused


def _print_messages(data: bytes) -> None:
    """Print kubectl's messages at once: a login may ask the user to do something.

    Left out are messages that may yet turn out to be wrong (there is no such kind, it is
    forbidden) or say nothing, and those about our own call: the user has used neither STDIN nor
    --validate.
    """
    from lnamespace.plugins.cluster.failures import elsewhere

    said = data.decode("utf-8", "surrogateescape")  # a piece may end within a character
    if not elsewhere(said) and UNKNOWN not in said:
        shown = _without_plumbing(said).encode("utf-8", "surrogateescape")
        os.write(sys.stderr.fileno(), shown)


def _without_plumbing(said: str) -> str:
    """Return kubectl's messages without parts about our own call or our admission policies."""
    from lnamespace.plugins.cluster.failures import without_policy

    said = "".join(line for line in said.splitlines(True) if LOG not in line)
    for part in PLUMBING:
        said = said.replace(part, "")
    return without_policy(said)


def wait(creation: Creation, arguments: Arguments) -> int:
    """Wait as long as was asked; an interruption leaves the object to the operator."""
    from lnamespace.plugins.cluster.waiting import described
    from lnamespace.plugins.model.api_group import advised

    try:
        if creation.kind == LCLUSTER:
            from lnamespace.plugins.kubeconfig.contexts import wait_for_context

            wait_for_context(arguments, creation.name, creation.timeout)
        else:
            _wait_for_namespace(creation)
    except KeyboardInterrupt:
        say(
            f'{creation.kind.kind} "{creation.name}" exists and goes on by itself; '
            f"see: {advised(described(creation.name, creation.kind))}"
        )
        return INTERRUPTED
    return 0


def _wait_for_namespace(creation: Creation) -> None:
    """Return when the LNamespace is ready, and its users can work in the namespace."""
    from lnamespace.plugins.cluster.kubectl import Kubectl, caller
    from lnamespace.plugins.cluster.waiting import wait_ready, wait_usable
    from lnamespace.plugins.model.subjects import entries_covering

    kubectl = Kubectl(creation.connection)
    asked = kubectl.start_whoami()
    lns = wait_ready(kubectl, creation.name, creation.timeout)
    if entries_covering(lns["spec"], "users", caller(asked.reply())):
        wait_usable(kubectl, creation.name)
