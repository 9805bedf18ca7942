"""`kubectl sudo`: any kubectl command with more rights, in one namespace, for those listed there.

A sudoer may impersonate themselves in one more group, NAME-sudoers; or, as the platform team chose,
one account that stands for the LNamespace. The first time, this command reads the user, the
namespace and which of the two applies, checks the list so that a refusal can say what to do, and
then becomes kubectl. The result is cached for a while: the next command runs at once, and the list
is read only if it fails. It grants nothing: the API server decides, whatever is checked or cached.
"""

from __future__ import annotations

import os
import sys

from lnamespace.plugins.commands.entry import leave, run
from lnamespace.plugins.model.api_group import SUFFIX_VARIABLE
from lnamespace.plugins.runtime.errors import OtherApiGroup, UsageError
from lnamespace.plugins.runtime.flags import Option
from lnamespace.plugins.runtime.memory import FileCache, connection_key
from lnamespace.plugins.runtime.processes import become_kubectl, run_kubectl
from lnamespace.plugins.runtime.terminal import say
from lnamespace.plugins.sudo.command_line import VERSION, SudoCommand, parse

# As long as sudo(8) remembers that somebody has shown who they are.
REMEMBERED = FileCache("sudo", 15 * 60)
SECRET = ("token", "password")  # flags that must not be stored


def main() -> int:
    """Run the console script."""
    return leave(run(run_as_sudoer, "kubectl sudo"))


def run_as_sudoer(argv: list[str]) -> int:
    """Check that the caller is a sudoer, then replace this process by kubectl."""
    command = parse(argv, is_plugin)
    if not command.line.words:
        asked = _wants_help(command)
        if not asked and command.line.gives((VERSION,)):
            from lnamespace.plugins.runtime.version import print_version

            return print_version("kubectl-sudo")
        if command.line.options and not asked:
            raise UsageError("which command? Write kubectl sudo -n NAMESPACE COMMAND")
        return print_help(asked)
    if _wants_help(command):
        become_kubectl(command.with_flags(()))
    key = _key(command)
    if known := REMEMBERED.recall(key):
        return _at_once(command, known, key)
    flags = sudoer_flags(command)
    REMEMBERED.remember(key, flags)
    from lnamespace.plugins.sudo.pod import lead_to_own_cluster

    lead_to_own_cluster(command.connection)
    return become_kubectl(command.with_flags(flags))


def _key(command: SudoCommand) -> str:
    """Return the key under which to remember as whom to act; empty if it is not remembered."""
    unread = command.is_given_files and not command.namespace  # it is known when the files are read
    where = "" if unread or command.line.gives(SECRET) else connection_key(command.connection)
    suffix = os.environ.get(SUFFIX_VARIABLE, "")
    return where and repr((where, suffix, command.namespace or ""))


def _at_once(command: SudoCommand, known: tuple[str, ...], key: str) -> int:
    """Run the command with the remembered flags; if it fails, check whether they were the reason.

    The command is never run a second time: it may have done something before it failed.
    """
    code = run_kubectl(command.with_flags(known))
    if code != 1:  # kubectl's own failures, a refusal among them
        return code
    REMEMBERED.forget(key)
    try:
        flags = sudoer_flags(command)
    except OtherApiGroup as error:
        # in another instance we would begin again; the next command does
        raise error.cause from None
    REMEMBERED.remember(key, flags)
    if flags != known:
        say("note: you are logged in as somebody else now, or sudo changed; run the command again")
    return code


def sudoer_flags(command: SudoCommand) -> tuple[str, ...]:
    """Return kubectl's flags for acting as a sudoer, or raise the reason for a refusal."""
    from lnamespace.plugins.sudo.check import Question, checked

    files = None
    if command.is_given_files and not command.plugin_words:  # a plugin may mean else by -f
        from lnamespace.plugins.sudo.manifests import Files

        line = command.line
        recursive = Option("recursive", None) in line.options or line.last("recursive") == "true"
        files = Files(command.given("filename"), command.given("kustomize"), recursive)
    return checked(
        Question(command.line, command.connection, command.namespace, files, command.by_plugin)
    )


def _wants_help(command: SudoCommand) -> bool:
    return any(option.name == "help" for option in command.line.options)


def print_help(asked: bool) -> int:
    """Print the help: on standard output if it was asked for, else on standard error."""
    from lnamespace.plugins.help.sudo import SUDO

    print(SUDO, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def is_plugin(name: str) -> bool:
    """Return whether kubectl would find a plugin of that name on PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(f"{folder}/kubectl-{name}", os.X_OK) for folder in folders)
