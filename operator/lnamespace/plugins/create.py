"""`kubectl create lns`: a namespace of one's own, usable when the command returns."""

from __future__ import annotations

import os
import sys

from lnamespace.plugins.entry import INTERRUPTED, leave, run
from lnamespace.plugins.flags import CREATE_FLAGS, dry_run, parse
from lnamespace.plugins.processes import Process, executable
from lnamespace.plugins.terminal import say
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from lnamespace.plugins.creation import Creation
    from lnamespace.plugins.flags import Arguments

# All other modules are imported while kubectl starts, which takes longer.

STRICT = b"; if you choose to ignore these errors, turn validation off with --validate=false"


def main() -> int:
    """Run the console script."""
    return leave(run(create_lnamespace, "kubectl create lns"))


def create_lnamespace(argv: list[str]) -> int:
    """Create, then wait."""
    arguments = parse(argv, CREATE_FLAGS)
    if arguments.given("help"):
        from lnamespace.plugins.help import CREATE

        print(CREATE, end="")
        return 0
    process = start(arguments)
    try:
        creation, body = _read(arguments)
    except BaseException:  # it has been told nothing yet
        process.kill()
        process.wait()
        raise
    code = submit(process, creation, body)
    if code or not creation.wait or creation.dry_run != "none":
        return code
    return wait(creation)


def start(arguments: Arguments) -> Process:
    """Start `kubectl create`, whose words and exit code are the user's; it waits for the object."""
    how = dry_run(arguments)
    command = [executable(), "create", "-f", "-", f"--dry-run={how}"]
    if how == "client":  # else it asks the API server twice whether that could check the object
        command.append("--validate=false")
    if output := arguments.one("output"):
        command.append(f"--output={output}")
    return Process([*command, *arguments.connection], fed=True, shows=True)


def _read(arguments: Arguments) -> tuple[Creation, bytes]:
    """Return what the command line says, and the object to send."""
    from datetime import UTC, datetime

    from lnamespace.plugins.creation import lnamespace, read
    from lnamespace.plugins.documents import dumps

    creation = read(arguments, datetime.now(UTC))
    return creation, dumps(lnamespace(creation)).encode()


def submit(process: Process, creation: Creation, body: bytes) -> int:
    """Hand the object to kubectl."""
    from lnamespace.plugins.errors import KubectlError, NotHere
    from lnamespace.plugins.kubectl import NO_DOOR, elsewhere, no_door

    _, told, code = process.communicate(body, _tell)
    said = told.decode("utf-8", "replace")
    if code and elsewhere(said):
        raise NotHere(KubectlError(said.strip(), code), creation.connection)
    if no_door(said):
        say(NO_DOOR)
    elif code and any(words in said for words in UNREACHED):
        say("The cluster cannot be reached; is it the right one? See: kubectl config get-contexts")
    return code


PLUMBING = (
    b'error when creating "STDIN": ',
    b'error validating "STDIN": ',
    b'unable to recognize "STDIN": ',
    b"error validating data: failed to download openapi: ",
    STRICT,
)
LOG = b"memcache.go:"  # of kubectl's discovery, which says the same as the error behind it
UNREACHED = ("connection refused", "no such host", "i/o timeout", "network is unreachable")


def _tell(data: bytes) -> None:
    """Show what kubectl says while it says it: a login may ask the user to do something.

    But for what may yet turn out otherwise, that there is no such kind, or no leave; and for what
    is about how we call kubectl: the user has no STDIN there, and no --validate.
    """
    from lnamespace.plugins.kubectl import elsewhere

    if not elsewhere(data.decode("utf-8", "replace")):
        data = b"".join(line for line in data.splitlines(True) if LOG not in line)
        for part in PLUMBING:
            data = data.replace(part, b"")
        os.write(sys.stderr.fileno(), data)


def wait(creation: Creation) -> int:
    """Wait as long as was asked; an interruption leaves the object to the operator."""
    from lnamespace.plugins.kubectl import Kubectl, caller
    from lnamespace.plugins.lnamespaces import advised
    from lnamespace.plugins.subjects import covering, entries
    from lnamespace.plugins.waiting import wait_ready, wait_usable

    kubectl = Kubectl(creation.connection)
    try:
        asked = kubectl.start_whoami()
        lns = wait_ready(kubectl, creation.name, creation.timeout)
        if covering(entries(lns["spec"], "users"), caller(asked.reply())):
            wait_usable(kubectl, creation.name)
    except KeyboardInterrupt:
        say(
            f'LNamespace "{creation.name}" exists and goes on by itself; '
            f"see: {advised(f'kubectl lns describe {creation.name}')}"
        )
        return INTERRUPTED
    return 0
