"""`kubectl sudo`: any kubectl command with more rights, in one namespace, for those listed there.

A sudoer may impersonate one group, NAME-sudoers, besides himself; or, as the platform team chose,
one account that stands for the LNamespace. This command finds out who is asking, where, and which
of the two it is, checks the list so that a refusal can say what to do, and then becomes kubectl.
It grants nothing: the API server decides, whatever is checked here.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import IO, NoReturn

from lnamespace.plugins.entry import run
from lnamespace.plugins.errors import NotHere, PluginError
from lnamespace.plugins.kubectl import Call, Kubectl, allowed, caller, executable, missing
from lnamespace.plugins.lnamespaces import (
    Identity,
    check_name,
    current,
    default_sudoers_group,
    path,
    ready,
    sudo_identity,
    sudo_namespace,
)
from lnamespace.plugins.subjects import ACCOUNT_USERNAME, Caller
from lnamespace.plugins.sudo_command import SudoCommand, parse
from lnamespace.plugins.sudoers import refusal
from lnamespace.plugins.terminal import say

# What kubectl says where there is no kubeconfig, or none that names a current context.
POD_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
MANIFEST_BYTES = 4 * 2**20  # so much of a file is looked at for its namespace
NO_CONTEXT = "current-context must exist"

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
    return run(sudo, "kubectl sudo")


def sudo(argv: list[str]) -> int:
    """Check, then become kubectl."""
    command = parse(argv, is_plugin)
    if not command.line.words:
        return teach(asked=_wants_help(command))
    if _wants_help(command):
        become_kubectl(command.with_flags(()))
    kubectl = Kubectl(command.connection)
    who = kubectl.start_whoami()
    namespace = check_name(
        command.namespace or file_namespace(command.files) or context_namespace(kubectl)
    )
    found = kubectl.start_get(path(namespace))
    me = caller(who.reply())
    act_as = permitted(kubectl, namespace, me, found)
    return become_kubectl(command.with_flags(act_as.flags(me.username)))


def file_namespace(files: Sequence[str]) -> str:
    """The one namespace that the files of a command are for; empty where they name none."""
    if not files:
        return ""
    from lnamespace.plugins.manifests import namespaces  # noqa: PLC0415 - seldom needed

    found = sorted(set().union(*(namespaces(_content(file)) for file in files)))
    if len(found) > 1:
        raise PluginError(
            f"the files are for several namespaces ({', '.join(found)}), and sudo is for one: "
            "apply them one by one"
        )
    return found[0] if found else ""


def _content(file: str) -> str:
    """What is in a file, as far as it can be known before kubectl reads it.

    Standard input is kept in a file without a name, for kubectl to read it from the start again. A
    folder, an address or what cannot be read names no namespace: it is kubectl that says so.
    """
    try:
        if file == "-":
            if os.isatty(0):
                return ""
            os.dup2(_kept(sys.stdin.buffer), 0)
            with open(0, "rb", closefd=False) as kept:
                return _start(kept)
        with open(file, "rb") as opened:  # noqa: PTH123 - pathlib is slow to load
            return _start(opened) if os.path.isfile(file) else ""  # noqa: PTH113
    except OSError:
        return ""


def _start(file: IO[bytes]) -> str:
    text = file.read(MANIFEST_BYTES).decode("utf-8", "replace")
    file.seek(0)
    return text


def _kept(stream: IO[bytes]) -> int:
    from tempfile import TemporaryFile  # noqa: PLC0415 - slow to load, seldom needed

    with TemporaryFile() as file:
        while data := stream.read(65536):
            file.write(data)
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


def _wants_help(command: SudoCommand) -> bool:
    return any(option.name == "help" for option in command.line.options)


def teach(asked: bool) -> int:
    """Help: what was asked for on standard output, what was missing on standard error."""
    print(HELP, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def permitted(kubectl: Kubectl, namespace: str, me: Caller, found: Call) -> Identity:
    """As whom to act, or the reason why it would be refused."""
    reply = found.reply()
    if reply.reason == "Forbidden":  # may not look at LNamespaces: ask about the right itself
        return _allowed(kubectl, namespace, me)
    if reply.code:
        raise missing(reply, kubectl, namespace)
    lns = reply.document()
    refused = refusal(lns, me, datetime.now(UTC))
    if refused:
        summary = ready(lns)
        # One that is in conflict has no namespace; another instance's may be the one that is meant.
        elsewhere = summary is not None and summary.reason == "Conflict"
        told = PluginError(refused)
        raise NotHere(told, kubectl.connection, namespace) if elsewhere else told
    if not current(lns):
        say(f'note: the latest change of LNamespace "{namespace}" is not in force yet')
    return sudo_identity(lns)


def _allowed(kubectl: Kubectl, namespace: str, me: Caller) -> Identity:
    """Of the two ways of sudo the one that is open, both asked about at the same time."""
    name, home = default_sudoers_group(namespace), sudo_namespace()
    group = kubectl.start_may(verb="impersonate", resource="groups", name=name)
    account = kubectl.start_may(
        verb="impersonate", resource="serviceaccounts", namespace=home, name=namespace
    )
    answers = allowed(group.reply()), allowed(account.reply())
    if answers[0]:
        return Identity(name)
    if answers[1]:
        return Identity(account=f"{ACCOUNT_USERNAME}{home}:{namespace}")
    told = PluginError(
        f'you ({me.username}) may neither sudo in "{namespace}" (impersonate group "{name}", or '
        f'service account "{home}:{namespace}") nor see its LNamespace; ask a cluster administrator'
    )
    raise NotHere(told, kubectl.connection, namespace)


def context_namespace(kubectl: Kubectl) -> str:
    """The namespace of the current context, or of the pod that this runs in."""
    reply = kubectl.run(
        "config", "view", "--minify", "-o", "jsonpath={.contexts[0].context.namespace}"
    )
    if reply.code and NO_CONTEXT not in reply.err:
        raise reply.failure()
    namespace = pod_namespace() if reply.code else reply.out.strip()
    if not namespace:
        raise PluginError(
            "which namespace? Neither the command nor the current context names one; "
            "say it with -n: kubectl sudo -n NAMESPACE COMMAND"
        )
    return namespace


def pod_namespace() -> str:
    """The namespace that kubectl itself uses inside a pod without a kubeconfig."""
    try:
        with open(POD_NAMESPACE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow to load
            return file.read().strip()
    except OSError:
        return ""


def is_plugin(name: str) -> bool:
    """Whether kubectl would find a plugin of that name on PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(f"{folder}/kubectl-{name}", os.X_OK) for folder in folders)


def become_kubectl(arguments: Sequence[str]) -> NoReturn:
    """Replace this process: standard input, exit code and signals are then kubectl's own."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and children inherit it
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(executable(), [executable(), *arguments])  # noqa: S606 - on purpose
    except FileNotFoundError:
        raise PluginError(
            f"{executable()} was not found; install kubectl or set KUBECTL to it"
        ) from None
