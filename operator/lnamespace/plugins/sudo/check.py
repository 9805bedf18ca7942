"""Ask the API server whether somebody may sudo in a namespace or an LCluster, and as whom.

The checks serve to explain a refusal, and to choose what is impersonated: oneself with a group, or
one account that stands for the LNamespace. They grant nothing: the API server decides.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lnamespace.plugins.cluster.kubectl import Call, Kubectl, Reply, allowed, caller, missing
from lnamespace.plugins.model.lnamespaces import (
    Impersonation,
    check_name,
    conflict_of,
    current,
    default_sudoers_group,
    path,
    sudo_identity,
    sudo_namespace,
)
from lnamespace.plugins.model.roles import refusal
from lnamespace.plugins.model.subjects import ACCOUNT_USERNAME, Caller
from lnamespace.plugins.runtime.errors import KubectlError, OtherApiGroup, PluginError
from lnamespace.plugins.runtime.terminal import printable, say
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple
from lnamespace.plugins.sudo.pod import pod_namespace

if TYPE_CHECKING:
    from lnamespace.plugins.runtime.flags import CommandLine
    from lnamespace.plugins.sudo.manifests import Files

LCLUSTER_GROUP = "lcluster:users"  # the group of all users of an LCluster
VERSION = "/version"  # everybody may read it on an ordinary cluster
CREATING = (("create",), ("lns",))  # how a command begins that may create an LNamespace
# What kubectl says where there is no kubeconfig, or none that names a current context.
NO_CONTEXT = "current-context must exist"


class Question(NamedTuple):
    """A command whose caller wants to act as a sudoer.

    ``named`` is the namespace that the command itself names; where it names none, its ``files``
    may, or else the context.
    """

    line: CommandLine
    connection: tuple[str, ...]
    named: str | None
    files: Files | None = None
    by_plugin: bool = False  # another program than kubectl reads the line


def checked(question: Question) -> tuple[str, ...]:
    """Return kubectl's flags for acting as a sudoer, or raise the reason for a refusal."""
    kubectl = Kubectl(question.connection)
    namespaces, problem = _namespaces(question)
    who = kubectl.start_whoami()
    if not namespaces:
        namespaces = tuple(filter(None, (context_namespace(kubectl),)))
    namespace = namespaces[0] if len(namespaces) == 1 else ""
    found = kubectl.start_get(path(check_name(namespace))) if namespace else None
    asked = who.reply()
    if in_lcluster(asked):
        from lnamespace.plugins.sudo.lcluster import permitted_within

        me = caller(asked)
        return permitted_within(kubectl, me, found).flags(me.username)
    if asked.code and (refused := not_let_in(kubectl)):
        raise refused
    if found is None or question.line.words[:1] in CREATING:
        from lnamespace.plugins.sudo.unclear import creation, problem_of

        if error := creation(question.line):
            raise error
        if found is None:
            raise problem_of(question.line, question.by_plugin, namespaces, problem)
    me = caller(asked)
    return permitted(kubectl, namespace, me, found).flags(me.username)


def _namespaces(question: Question) -> tuple[tuple[str, ...], PluginError | None]:
    """Return the namespaces that a command is for, and why its files could not be read.

    In an LCluster they may be several.
    """
    if question.named:
        return (question.named,), None
    if question.files is None:
        return (), None
    from lnamespace.plugins.sudo.manifests import contents

    return contents(question.files)


def in_lcluster(asked: Reply) -> bool:
    """Return whether the answer to `start_whoami` is that of a gateway for LClusters."""
    return not asked.code and LCLUSTER_GROUP in caller(asked).groups


def not_let_in(kubectl: Kubectl) -> KubectlError | None:
    """Return why the API server refuses every request; None if it does not.

    A gateway tells who is not listed in an LCluster whom to ask. `kubectl auth whoami` replaces
    that by words of its own.
    """
    reply = kubectl.start_get(VERSION).reply()
    return reply.failure() if reply.code else None


def permitted(kubectl: Kubectl, namespace: str, me: Caller, found: Call) -> Impersonation:
    """Return whom to impersonate, or the reason for which it would be refused."""
    reply = found.reply()
    if reply.reason == "Forbidden":  # may not get LNamespaces: ask about the right itself
        return _allowed(kubectl, namespace, me)
    if reply.code:
        raise missing(reply, kubectl, namespace)
    lns = reply.document()
    refused, conflict = refusal(lns, me, datetime.now(UTC)), conflict_of(lns)
    if refused:
        # An LNamespace in Conflict has no namespace; that of another instance may be meant.
        error = PluginError(refused)
        raise OtherApiGroup(error, kubectl.connection, namespace) if conflict else error
    if conflict:
        say(f'note: LNamespace "{namespace}" gives nobody access: {printable(conflict)}')
    elif not current(lns):
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
    error = PluginError(
        f'you ({me.username}) may neither sudo in "{namespace}" (impersonate group "{name}", or '
        f'service account "{home}:{namespace}") nor see its LNamespace; ask a cluster administrator'
    )
    raise OtherApiGroup(error, kubectl.connection, namespace)


def context_namespace(kubectl: Kubectl) -> str:
    """Return the namespace of the current context, or of the pod that this runs in, or nothing."""
    reply = kubectl.configured("{.contexts[0].context.namespace}")
    if reply.code and NO_CONTEXT not in reply.err:
        raise reply.failure()
    return pod_namespace() if reply.code else reply.out.strip()
