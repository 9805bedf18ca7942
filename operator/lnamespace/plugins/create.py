"""`kubectl create lns`: a namespace of one's own, usable when the command returns."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime

from lnamespace.plugins.creation import (
    Creation,
    completed,
    lnamespace,
    parse_arguments,
    read,
)
from lnamespace.plugins.entry import INTERRUPTED, run
from lnamespace.plugins.kubectl import Kubectl, caller, executable, exit_code, spawn
from lnamespace.plugins.subjects import Caller, covering
from lnamespace.plugins.terminal import say
from lnamespace.plugins.waiting import wait_ready, wait_usable

HELP = """\
Create an LNamespace: a namespace of that name, with the access it needs.

With no --user, --manager or --sudoer you become all three. Where any is given, only those listed
get access, except that you become the manager if there is none, so that somebody can change it.

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

  # Look at the object without creating it
  kubectl create lns team-a --dry-run=client -o yaml

Options:
    --user=SUBJECT, --manager=SUBJECT, --sudoer=SUBJECT:
        Who gets which access; each may be repeated.
    --cost-center='', --owner='', --team='', --environment='':
        Who pays; what is left out is filled in by the cluster.
    --billing-label=KEY=VALUE:
        A further label of the bill; may be repeated.
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
    return run(create, "kubectl create lns")


def create(argv: list[str]) -> int:
    """Create, then wait."""
    arguments = parse_arguments(argv)
    if arguments.given("help"):
        print(HELP, end="")
        return 0
    creation = read(arguments, datetime.now(UTC))
    kubectl = Kubectl(creation.connection)
    me = caller(kubectl.start_whoami().reply())
    code = submit(creation, me)
    if code or not creation.wait or creation.dry_run != "none":
        return code
    return wait(kubectl, creation, me)


def submit(creation: Creation, me: Caller) -> int:
    """Hand the object to `kubectl create`, whose words and exit code are the user's."""
    command = [executable(), "create", "-f", "-", f"--dry-run={creation.dry_run}"]
    if creation.output:
        command.append(f"--output={creation.output}")
    process = spawn(
        [*command, *creation.connection], stdin=subprocess.PIPE, stdout=None, stderr=None
    )
    process.communicate(json.dumps(lnamespace(creation, me)).encode())
    return exit_code(process.returncode)


def wait(kubectl: Kubectl, creation: Creation, me: Caller) -> int:
    """Wait as long as was asked; an interruption leaves the object to the operator."""
    try:
        wait_ready(kubectl, creation.name, creation.timeout)
        if covering(completed(creation, me)["users"], me):
            wait_usable(kubectl, creation.name)
    except KeyboardInterrupt:
        say(
            f'LNamespace "{creation.name}" exists and goes on by itself; '
            f"see: kubectl lns describe {creation.name}"
        )
        return INTERRUPTED
    return 0
