"""`kubectl create lns`: a namespace of one's own, usable when the command returns."""

from __future__ import annotations

import os
import sys

from lnamespace.plugins.arguments import dry_run, parse
from lnamespace.plugins.create_flags import FLAGS
from lnamespace.plugins.entry import INTERRUPTED, leave, run
from lnamespace.plugins.handover import executable
from lnamespace.plugins.processes import Process
from lnamespace.plugins.terminal import say
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from lnamespace.plugins.arguments import Arguments
    from lnamespace.plugins.creation import Creation

# All other modules are imported while kubectl starts, which takes longer.

STRICT = b"; if you choose to ignore these errors, turn validation off with --validate=false"

HELP = """\
Create an LNamespace: a namespace of that name, with the access it needs.

With no --user, --manager or --sudoer you become all three. Where any is given, only those listed
get access, except that you become the manager if none of them could change it. What you leave out
is filled in by the cluster; --dry-run=server -o yaml shows with what.

Users work in the namespace, managers change the LNamespace, sudoers may use kubectl sudo.
A SUBJECT is NAME, group:NAME or serviceaccount:NAMESPACE:NAME, one per flag, with an optional end:
',for=8h' or ',until=2030-12-31T18:00:00Z'.

Examples:
  # A namespace for yourself
  kubectl create lns team-a

  # For a team, billed to a cost centre
  kubectl create lns team-a --user group:team-a --manager alice@example.com --cost-center R-42

  # A contractor for two weeks, and a sudoer for today
  kubectl create lns team-a --user bob,for=2w --sudoer alice,for=8h

  # Look at what it would be, without creating it
  kubectl create lns team-a --dry-run=server -o yaml

Options:
    --user=SUBJECT, --manager=SUBJECT, --sudoer=SUBJECT:
        Who gets which access; each may be repeated.
    --cost-center='', --owner='', --team='', --environment='':
        Who pays; what is left out is filled in by the cluster.
    --billing-label=KEY=VALUE:
        A further label of the bill; may be repeated.
    --profile='':
        The guard rails of the namespace; what is left out is the profile default, if there is one.
    --label=KEY=VALUE:
        A label of the LNamespace; may be repeated.
    --deletion-policy=Delete|Retain:
        What becomes of the namespace when the LNamespace is deleted.
    --deletion-protection=false:
        Refuse to delete the LNamespace until this is taken back.
    --wait=true, --timeout=60s:
        Return when the namespace can be used; exit with 1 if that takes longer.
    --dry-run=none|client|server, -o, --output=json|yaml|name|...:
        As in kubectl create.
  and kubectl's connection flags (kubectl options), except --user, which names a person here.

Usage:
  kubectl create lns NAME [--user=SUBJECT] [--manager=SUBJECT] [--sudoer=SUBJECT] [options]
"""


def main() -> int:
    """The console script."""
    return leave(run(create, "kubectl create lns"))


def create(argv: list[str]) -> int:
    """Create, then wait."""
    arguments = parse(argv, FLAGS)
    if arguments.given("help"):
        print(HELP, end="")
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
    command = [executable(), "create", "-f", "-", f"--dry-run={dry_run(arguments)}"]
    if output := arguments.one("output"):
        command.append(f"--output={output}")
    return Process([*command, *arguments.connection], fed=True, shows=True)


def _read(arguments: Arguments) -> tuple[Creation, bytes]:
    """Return what the command line says, and the object to send."""
    import json
    from datetime import UTC, datetime

    from lnamespace.plugins.creation import lnamespace, read

    creation = read(arguments, datetime.now(UTC))
    return creation, json.dumps(lnamespace(creation)).encode()


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
    return code


PLUMBING = (b'error when creating "STDIN": ', b'error validating "STDIN": ', STRICT)


def _tell(data: bytes) -> None:
    """Show what kubectl says while it says it: a login may ask the user to do something.

    But for what may yet turn out otherwise, that there is no such kind, or no leave; and for what
    is about how we call kubectl: the user has no STDIN there, and no --validate.
    """
    from lnamespace.plugins.kubectl import elsewhere

    if not elsewhere(data.decode("utf-8", "replace")):
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
