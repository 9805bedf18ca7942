"""`kubectl create lns`: a namespace of one's own, usable when the command returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from threading import Thread
from typing import IO

from lnamespace.plugins.creation import Creation, lnamespace, parse_arguments, read
from lnamespace.plugins.entry import INTERRUPTED, run
from lnamespace.plugins.errors import KubectlError, NotHere
from lnamespace.plugins.kubectl import (
    NO_DOOR,
    Kubectl,
    caller,
    elsewhere,
    executable,
    exit_code,
    no_door,
    spawn,
)
from lnamespace.plugins.lnamespaces import advised
from lnamespace.plugins.subjects import covering, entries
from lnamespace.plugins.terminal import say
from lnamespace.plugins.waiting import wait_ready, wait_usable

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
    return run(create, "kubectl create lns")


def create(argv: list[str]) -> int:
    """Create, then wait."""
    arguments = parse_arguments(argv)
    if arguments.given("help"):
        print(HELP, end="")
        return 0
    creation = read(arguments, datetime.now(UTC))
    code = submit(creation)
    if code or not creation.wait or creation.dry_run != "none":
        return code
    return wait(Kubectl(creation.connection), creation)


def submit(creation: Creation) -> int:
    """Hand the object to `kubectl create`, whose words and exit code are the user's."""
    command = [executable(), "create", "-f", "-", f"--dry-run={creation.dry_run}"]
    if creation.output:
        command.append(f"--output={creation.output}")
    process = spawn(
        [*command, *creation.connection],
        stdin=subprocess.PIPE,
        stdout=None,
        stderr=subprocess.PIPE,
    )
    stderr, process.stderr = process.stderr, None
    told: list[bytes] = []
    reader = Thread(target=_tee, args=(stderr, told))
    reader.start()
    process.communicate(json.dumps(lnamespace(creation)).encode())
    reader.join()
    said = b"".join(told).decode("utf-8", "replace")
    if process.returncode and elsewhere(said):
        raise NotHere(KubectlError(said.strip(), process.returncode), creation.connection)
    if no_door(said):
        say(NO_DOOR)
    return exit_code(process.returncode)


PLUMBING = (b'error when creating "STDIN": ', b'error validating "STDIN": ', STRICT)


def _tee(stream: IO[bytes], told: list[bytes]) -> None:
    """Show what kubectl says while it says it: a login may ask the user to do something.

    But for what may yet turn out otherwise, that there is no such kind, or no leave; and for what
    is about how we call kubectl: the user has no STDIN there, and no --validate.
    """
    with stream:
        while data := os.read(stream.fileno(), 65536):
            told.append(data)
            if not elsewhere(data.decode("utf-8", "replace")):
                for part in PLUMBING:
                    data = data.replace(part, b"")
                os.write(sys.stderr.fileno(), data)


def wait(kubectl: Kubectl, creation: Creation) -> int:
    """Wait as long as was asked; an interruption leaves the object to the operator."""
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
