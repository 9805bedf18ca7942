"""The page of `kubectl lns describe lc/NAME`."""

from __future__ import annotations

from datetime import datetime
from shlex import quote

from lnamespace.plugins.description import (
    access_table,
    billing_lines,
    deletion,
    fact,
    indented,
    ready_lines,
    requested_lines,
)
from lnamespace.plugins.lnamespaces import LCLUSTER, Object, advised, name_of, typed
from lnamespace.plugins.roles import access
from lnamespace.plugins.subjects import Caller
from lnamespace.plugins.terminal import printable

MEANING = {
    "user": "works in the LCluster",
    "manager": "changes and deletes this LCluster",
    "sudoer": "everything in it by kubectl sudo, and changes it",
}


def render_lcluster(lcluster: Object, me: Caller, now: datetime, colour: bool) -> str:
    """Return the whole page."""
    return "".join(
        (
            _facts(lcluster, now),
            ready_lines(lcluster, colour),
            billing_lines(lcluster),
            "Access:\n" + indented(access_table(lcluster, now, MEANING)),
            _next(lcluster, me, now),
        )
    )


def _facts(lcluster: Object, now: datetime) -> str:
    spec, status = lcluster["spec"], lcluster.get("status", {})
    return requested_lines(lcluster, now) + "".join(
        (
            fact("Address", str(status.get("address") or "<none>")),
            fact("Namespaces", str(status.get("namespaces") or 0)),
            fact("Suspended", str(spec.get("suspend") or "<none>")),
            fact("Deletion", deletion(spec)),
        )
    )


def _next(lcluster: Object, me: Caller, now: datetime) -> str:
    """Tell the caller what can be done with it."""
    name = name_of(lcluster)
    roles = {role.role for role in access(lcluster, me, now).roles if not role.expired}
    lines = []
    if roles & {"user", "sudoer"}:
        command = advised(f"kubectl lns kubeconfig {name}")
        lines.append(f"A context that leads to it: {command}")
    if "sudoer" in roles:
        lines.append(f"You are a sudoer: kubectl sudo --context {name} COMMAND")
    if roles & {"manager", "sudoer"}:
        command = advised(f"kubectl lns grant {typed(name, LCLUSTER)} --user {quote('NAME')}")
        lines.append(f"You may give access to it: {command}")
    told = "".join(f"  {printable(line)}\n" for line in lines)
    return f"You:\n{told}" if told else ""
