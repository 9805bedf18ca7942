"""`kubectl sudo`: any kubectl command with more rights, in one namespace, for those listed there.

A sudoer may impersonate one group, NAME-sudoers, besides himself; or, as the platform team chose,
one account that stands for the LNamespace. The first time, this command finds out who is asking,
where, and which of the two it is, checks the list so that a refusal can say what to do, and then
becomes kubectl. What it found is remembered for a while: the next command is run at once, and only
if it fails is the list looked at. It grants nothing: the API server decides, whatever is checked
or remembered here.
"""

from __future__ import annotations

import os
import sys

from lnamespace.plugins.discovery import SUFFIX_VARIABLE
from lnamespace.plugins.entry import leave, run
from lnamespace.plugins.errors import NotHere
from lnamespace.plugins.handover import become_kubectl, run_kubectl
from lnamespace.plugins.memory import Memory, place
from lnamespace.plugins.sudo_command import SudoCommand, parse
from lnamespace.plugins.terminal import say

# As long as sudo(8) remembers that somebody has shown who they are.
REMEMBERED = Memory("sudo", 15 * 60)
SECRET = ("token", "password")  # flags that are written down nowhere

HELP = """\
Run a kubectl command as a sudoer of one namespace.

The rights are those of NAME's sudoers: everything inside the namespace NAME, and changes to the
LNamespace NAME. You need to be on its list of sudoers; see: kubectl lns list

The namespace is taken from -n, else from the LNamespace that the command names, else from the
files that it is given, else from the current context.

Examples:
  # Delete a role binding in namespace team-a
  kubectl sudo -n team-a delete rolebinding old-ci

  # Repeat the last command, with sudo
  kubectl sudo !!

  # A file that says which namespace it is for
  kubectl sudo apply -f role.yaml

  # Edit the LNamespace itself; its name also is the namespace
  kubectl sudo edit lns team-a

  # Make somebody a user
  kubectl sudo lns grant team-a --user bob@example.com

  # Everything behind the command is kubectl's: pipes, flags, and what follows --
  kubectl sudo -n team-a apply -f - < role.yaml
  kubectl sudo -n team-a exec web-0 -- sh -c 'echo $HOME'

Usage:
  kubectl sudo [-n NAMESPACE] COMMAND [ARGUMENTS ...]
"""


def main() -> int:
    """The console script."""
    return leave(run(sudo, "kubectl sudo"))


def sudo(argv: list[str]) -> int:
    """Check, then become kubectl."""
    command = parse(argv, is_plugin)
    if not command.line.words:
        return teach(asked=_wants_help(command))
    if _wants_help(command):
        become_kubectl(command.with_flags(()))
    key = _key(command)
    if known := REMEMBERED.recall(key):
        return _at_once(command, known, key)
    from lnamespace.plugins.sudo_check import checked

    flags = checked(command)
    REMEMBERED.remember(key, flags)
    return become_kubectl(command.with_flags(flags))


def _key(command: SudoCommand) -> str:
    """Return what decides as whom to act; empty where nothing is to be remembered of it."""
    unread = command.files and not command.namespace  # it is known when the files are read
    where = "" if unread or command.line.gives(SECRET) else place(command.connection)
    suffix = os.environ.get(SUFFIX_VARIABLE, "")
    return where and repr((where, suffix, command.namespace or ""))


def _at_once(command: SudoCommand, known: tuple[str, ...], key: str) -> int:
    """Run the command as remembered; if it fails, find out whether that was the reason.

    It is run once, whatever is found out: it may have done something before it failed.
    """
    code = run_kubectl(command.with_flags(known))
    if code != 1:  # kubectl's own failures, a refusal among them
        return code
    from lnamespace.plugins.sudo_check import checked

    REMEMBERED.forget(key)
    try:
        flags = checked(command)
    except NotHere as error:  # in another instance we would begin again; the next command does
        raise error.told from None
    REMEMBERED.remember(key, flags)
    if flags != known:
        say("note: you are logged in as somebody else now, or sudo changed; run the command again")
    return code


def _wants_help(command: SudoCommand) -> bool:
    return any(option.name == "help" for option in command.line.options)


def teach(asked: bool) -> int:
    """Help: what was asked for on standard output, what was missing on standard error."""
    print(HELP, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def is_plugin(name: str) -> bool:
    """Whether kubectl would find a plugin of that name on PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(f"{folder}/kubectl-{name}", os.X_OK) for folder in folders)
