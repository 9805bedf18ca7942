"""`kubectl lns describe`: who can do what, until when, and why something is not ready."""

from __future__ import annotations

import json
import shlex
import sys
from datetime import UTC, datetime

from lnamespace.plugins.cluster.kubectl import Kubectl, caller, missing
from lnamespace.plugins.model.api_group import advised
from lnamespace.plugins.model.lnamespaces import (
    LCLUSTER,
    Object,
    conditions,
    conflict_of,
    current,
    name_of,
    path,
    read_target,
    ready,
    sudo_identity,
    typed,
    without_managed_fields,
)
from lnamespace.plugins.model.roles import access, ask, granting
from lnamespace.plugins.model.subjects import LISTS, Caller, ListEntry, entries
from lnamespace.plugins.model.times import age, format_age, format_instant
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import Arguments, one_of
from lnamespace.plugins.runtime.output import formatted
from lnamespace.plugins.runtime.terminal import (
    GREEN,
    RED,
    colours,
    paint,
    printable,
    render,
    shortened,
)
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MEANING = {
    "user": "works in the namespace",
    "manager": "changes and deletes this LNamespace",
    "sudoer": "everything, by kubectl sudo",
}
MEANING_IN_LCLUSTER = {
    "user": "works in the LCluster",
    "manager": "changes and deletes this LCluster",
    "sudoer": "everything in it by kubectl sudo, and changes it",
}
BILLING = {
    "costCenter": "Cost center",
    "owner": "Owner",
    "team": "Team",
    "environment": "Environment",
}


def describe(arguments: Arguments) -> int:
    """Show one LNamespace or LCluster."""
    if len(arguments.words) != 2:
        raise UsageError("exactly one NAME is required")
    output = one_of(arguments, "output", ("json", "yaml", ""), "")
    kind, name = read_target(arguments.words[1])
    kubectl = Kubectl(arguments.connection)
    who, found = kubectl.start_whoami(), kubectl.start_get(path(name, kind))
    me, reply = caller(who.reply()), found.reply()
    if reply.code:
        raise missing(reply, kubectl, name, kind)
    lns = reply.document()
    if output:
        print(formatted(without_managed_fields(lns), output), end="")
    else:
        page = lcluster_page if kind == LCLUSTER else lnamespace_page
        print(page(lns, me, datetime.now(UTC), colours(sys.stdout)), end="")
    return 0


def lnamespace_page(lns: Object, me: Caller, now: datetime, colour: bool) -> str:
    """Return the whole page of an LNamespace."""
    uid = lns.get("status", {}).get("namespaceUID")
    facts = {"Namespace": f"{name_of(lns)} (UID {uid})" if uid else "<none yet>"}
    return _page(lns, now, colour, facts, MEANING) + _sudo(lns, me, now) + _audit(lns)


def lcluster_page(lcluster: Object, me: Caller, now: datetime, colour: bool) -> str:
    """Return the whole page of an LCluster."""
    spec, status = lcluster["spec"], lcluster.get("status", {})
    revoked, quota = len(spec.get("revokedCredentials") or ()), spec.get("quota") or {}
    facts = {
        "Address": str(status.get("address") or "<none>"),
        "Namespaces": str(status.get("namespaces") or 0),
        "Suspended": str(spec.get("suspend") or "<none>"),
        "Revoked": f"{revoked} (spec.revokedCredentials)" if revoked else "<none>",
        "Quota": ", ".join(f"{each}={quota[each]}" for each in sorted(quota)) or "<none>",
    }
    return _page(lcluster, now, colour, facts, MEANING_IN_LCLUSTER) + _next(lcluster, me, now)


def _page(
    lns: Object, now: datetime, colour: bool, facts: Mapping[str, str], meaning: Mapping[str, str]
) -> str:
    """Return the page with the facts of both kinds, those of one kind, and the tables."""
    spec = lns["spec"]
    created = str(lns["metadata"].get("creationTimestamp") or "<unknown>")
    policy = str(spec.get("deletionPolicy") or "Delete")
    facts = {
        "Name": name_of(lns),
        "Requester": str(spec.get("requester") or "<none>"),
        "Created": f"{created} ({age(created, now)} ago)",
        **facts,
        "Deletion": policy + (", protected" if spec.get("deletionProtection") else ""),
    }
    return "".join(
        (
            *(f"{label + ':':<13}{printable(value)}\n" for label, value in facts.items()),
            _readiness(lns, colour),
            _billing(lns),
            "Access:\n" + _indented(_access_table(lns, now, meaning)),
        )
    )


def _readiness(lns: Object, colour: bool) -> str:
    """Return whether it is ready, and its conditions."""
    summary = ready(lns)
    status = summary.status if summary else "Unknown"
    line = "Ready:       " + paint(printable(status), GREEN if status == "True" else RED, colour)
    if not current(lns):
        line += " (the operator has not seen the latest change yet)"
    found = [
        (item.type, item.status, item.reason, item.message or "<none>") for item in conditions(lns)
    ]
    table = render(("CONDITION", "STATUS", "REASON", "MESSAGE"), found) if found else ""
    return f"{line}\n{_indented(table)}"


def _billing(lns: Object) -> str:
    """Return who pays for it."""
    billing = lns["spec"].get("billing") or {}
    lines = [
        f"{label}: {shortened(billing[key])}" for key, label in BILLING.items() if billing.get(key)
    ]
    lines += [
        f"{shortened(key)}={shortened(value)}"
        for key, value in sorted((billing.get("labels") or {}).items())
    ]
    return (
        "Billing:" + ("".join(f"\n  {printable(line)}" for line in lines) or "     <none>") + "\n"
    )


def _access_table(lns: Object, now: datetime, meaning: Mapping[str, str]) -> str:
    """Return every entry of every list as a table."""
    rows = [
        (shortened(_name(entry)), entry.identity.kind, role, _until(entry, now), meaning[role])
        for role, field in LISTS.items()
        for entry in entries(lns["spec"], field)
    ]
    return render(("SUBJECT", "KIND", "ACCESS", "UNTIL", "WHAT IT MEANS"), rows)


def _name(entry: ListEntry) -> str:
    namespace = entry.identity.namespace
    return f"{namespace}:{entry.identity.name}" if namespace else entry.identity.name


def _until(entry: ListEntry, now: datetime) -> str:
    if entry.expires_at is None:
        return "<none>"
    moment = format_instant(entry.expires_at)
    if entry.expired(now):
        return f"EXPIRED {moment} ({format_age(now - entry.expires_at)} ago)"
    return f"{moment} (in {format_age(entry.expires_at - now)})"


def _sudo(lns: Object, me: Caller, now: datetime) -> str:
    name = name_of(lns)
    act_as = sudo_identity(lns)
    what = act_as.account or f"group {act_as.group}"
    command = advised(f"kubectl sudo -n {name} COMMAND")
    lines = [f"A sudoer acts as {what}, with: {command}"]
    if any(role.role == "sudoer" and not role.expired for role in access(lns, me, now).roles):
        conflict = conflict_of(lns)
        lines.append(f"You are a sudoer.{conflict and f' That gives no access: {conflict}'}")
    else:
        whom = ask(lns, me, now, granting(name, me.identity))
        lines.append(f"You are not a sudoer; {whom}")
    return "Sudo:\n" + "".join(f"  {printable(line)}\n" for line in lines)


def _audit(lns: Object) -> str:
    """Return lines that say where the API server records sudo (docs/guides/auditor.md)."""
    act_as = sudo_identity(lns)
    if act_as.account:
        question = f"select(.impersonatedUser.username == {json.dumps(act_as.account)})"
    else:
        question = f"select(.impersonatedUser.groups // [] | index({json.dumps(act_as.group)}))"
    answer = "[.stageTimestamp, .user.username, .verb, .requestURI] | @tsv"
    command = f"jq -r {shlex.quote(f'{question} | {answer}')} audit.log"
    return (
        "Audit:\n"
        "  What is done by sudo is in the API server's audit log, under the name of who did it:\n"
        f"  {printable(command)}\n"
    )


def _next(lcluster: Object, me: Caller, now: datetime) -> str:
    """Return lines that say what the caller can do with it."""
    name = name_of(lcluster)
    roles = {role.role for role in access(lcluster, me, now).roles if not role.expired}
    lines = []
    if roles & {"user", "sudoer"}:
        command = advised(f"kubectl lns kubeconfig {name}")
        lines.append(f"A context that leads to it: {command}")
    if "sudoer" in roles:
        lines.append(f"You are a sudoer: kubectl sudo --context {name} COMMAND")
    if roles & {"manager", "sudoer"}:
        command = advised(f"kubectl lns grant {typed(name, LCLUSTER)} --user NAME")
        lines.append(f"You may give access to it: {command}")
    text = "".join(f"  {printable(line)}\n" for line in lines)
    return f"You:\n{text}" if text else ""


def _indented(table: str) -> str:
    """Return the lines of a table below a heading."""
    return "".join(f"  {line}\n" for line in table.splitlines())
