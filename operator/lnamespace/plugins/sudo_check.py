"""Whether somebody may sudo in a namespace or an LCluster, and as whom; asked of the API server.

The checks are for the words of a refusal, and to find out which way of sudo it is: a group besides
oneself, or one account that stands for the LNamespace. They grant nothing: the API server decides.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from lnamespace.plugins.errors import KubectlError, NotHere, PluginError
from lnamespace.plugins.kubectl import Call, Kubectl, Reply, allowed, caller, missing
from lnamespace.plugins.lnamespaces import (
    Impersonation,
    check_name,
    current,
    default_sudoers_group,
    path,
    ready,
    sudo_identity,
    sudo_namespace,
)
from lnamespace.plugins.roles import refusal
from lnamespace.plugins.subjects import ACCOUNT_USERNAME, Caller
from lnamespace.plugins.terminal import say
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    from lnamespace.plugins.sudo import SudoCommand

# What kubectl says where there is no kubeconfig, or none that names a current context.
POD_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
MANIFEST_BYTES = 4 * 2**20  # so much of a file is looked at for its namespace
LCLUSTER_GROUP = "lcluster:users"  # of all that the lists of an LCluster let in
VERSION = "/version"  # everybody may read it on an ordinary cluster
NO_CONTEXT = "current-context must exist"


def checked(command: SudoCommand) -> tuple[str, ...]:
    """Return kubectl's flags for acting as a sudoer, or raise the reason for a refusal."""
    # A plugin may mean something else by -f.
    files = () if command.plugin_words else command.files
    unclear = PluginError(
        "which namespace? Neither the command nor the current context names one; "
        "say it with -n: kubectl sudo -n NAMESPACE COMMAND"
    )
    kubectl = Kubectl(command.connection)
    try:
        named = command.namespace or file_namespace(files)
        who = kubectl.start_whoami()
        namespace = named or context_namespace(kubectl)
    except SeveralNamespaces as error:
        unclear, namespace, who = error, "", kubectl.start_whoami()
    found = kubectl.start_get(path(check_name(namespace))) if namespace else None
    asked = who.reply()
    if in_lcluster(asked):
        from lnamespace.plugins.sudo_lcluster import permitted_within

        me = caller(asked)
        return permitted_within(kubectl, me, found).flags(me.username)
    if asked.code and (refused := not_let_in(kubectl)):
        raise refused
    if found is None:
        raise unclear
    me = caller(asked)
    return permitted(kubectl, namespace, me, found).flags(me.username)


def in_lcluster(asked: Reply) -> bool:
    """Return whether the answer to `start_whoami` is that of a gateway for LClusters."""
    return not asked.code and LCLUSTER_GROUP in caller(asked).groups


def not_let_in(kubectl: Kubectl) -> KubectlError | None:
    """Return why the API server answers nothing; None if it does.

    A gateway tells who is not listed in an LCluster whom to ask. `kubectl auth whoami` replaces
    that by words of its own.
    """
    reply = kubectl.start_get(VERSION).reply()
    return reply.failure() if reply.code else None


class SeveralNamespaces(PluginError):
    """The files of a command are for several namespaces; in an LCluster they may be."""


def file_namespace(files: Sequence[str]) -> str:
    """Return the one namespace that the files of a command are for; empty where they name none."""
    if not files:
        return ""
    from lnamespace.plugins.manifests import namespaces

    paths = [path for file in files for path in _paths(file)]
    found = sorted(set().union(*(namespaces(_content(path)) for path in paths)))
    if len(found) > 1:
        raise SeveralNamespaces(
            f"the files are for several namespaces ({', '.join(found)}), and sudo is for one: "
            "apply them one by one"
        )
    return found[0] if found else ""


def _paths(file: str) -> list[str]:
    """Return the files that an argument of -f means, or raise what kubectl says of them.

    kubectl would say it only after we have asked for a namespace, which is in the missing file.
    """
    if file == "-" or file.startswith(("http://", "https://")):
        return [file]
    try:
        os.stat(file)  # noqa: PTH116 - pathlib is slow to load
    except FileNotFoundError:
        from glob import glob

        if matches := glob(file):  # noqa: PTH207 - as above
            return sorted(matches)
        raise KubectlError(f'error: the path "{file}" does not exist') from None
    except OSError as error:
        why = f"stat {file}: {(error.strerror or '').lower()}"
        raise KubectlError(f'error: the path "{file}" cannot be accessed: {why}') from None
    return [file]


def _content(file: str) -> str:
    """Return the content of a file, as far as it can be read before kubectl reads it.

    Standard input is kept in a file without a name, for kubectl to read it from the start again. A
    folder and an address name no namespace.
    """
    if file == "-":
        return _standard_input()
    try:
        if not os.path.isfile(file):  # noqa: PTH113 - pathlib is slow to load
            return ""
        with open(file, "rb") as opened:  # noqa: PTH123 - as above
            return _start(opened)
    except OSError as error:
        raise KubectlError(f"error: open {file}: {(error.strerror or '').lower()}") from None


def _standard_input() -> str:
    try:
        if os.isatty(0):
            return ""
        os.dup2(_kept(0), 0)
        with open(0, "rb", closefd=False) as kept:
            return _start(kept)
    except OSError:  # kubectl cannot read it either, and says so
        return ""


def _start(file: IO[bytes]) -> str:
    text = file.read(MANIFEST_BYTES).decode("utf-8", "replace")
    file.seek(0)
    return text


def _kept(descriptor: int) -> int:
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        while data := os.read(descriptor, 65536):
            file.write(data)
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


def permitted(kubectl: Kubectl, namespace: str, me: Caller, found: Call) -> Impersonation:
    """Return as whom to act, or the reason why it would be refused."""
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


def _allowed(kubectl: Kubectl, namespace: str, me: Caller) -> Impersonation:
    """Return the way of sudo that is open, of two, both asked about at the same time."""
    name, home = default_sudoers_group(namespace), sudo_namespace()
    group = kubectl.start_may(verb="impersonate", resource="groups", name=name)
    account = kubectl.start_may(
        verb="impersonate", resource="serviceaccounts", namespace=home, name=namespace
    )
    answers = allowed(group.reply()), allowed(account.reply())
    if answers[0]:
        return Impersonation(name)
    if answers[1]:
        return Impersonation(account=f"{ACCOUNT_USERNAME}{home}:{namespace}")
    told = PluginError(
        f'you ({me.username}) may neither sudo in "{namespace}" (impersonate group "{name}", or '
        f'service account "{home}:{namespace}") nor see its LNamespace; ask a cluster administrator'
    )
    raise NotHere(told, kubectl.connection, namespace)


def context_namespace(kubectl: Kubectl) -> str:
    """Return the namespace of the current context, or of the pod that this runs in, or nothing."""
    reply = kubectl.run(
        "config", "view", "--minify", "-o", "jsonpath={.contexts[0].context.namespace}"
    )
    if reply.code and NO_CONTEXT not in reply.err:
        raise reply.failure()
    return pod_namespace() if reply.code else reply.out.strip()


def pod_namespace() -> str:
    """Return the namespace that kubectl itself uses inside a pod without a kubeconfig."""
    try:
        with open(POD_NAMESPACE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow to load
            return file.read().strip()
    except OSError:
        return ""
