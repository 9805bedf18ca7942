"""Reading LNamespace objects, and the addresses they have on the API server.

Objects stay plain JSON: they are shown and sent back whole, with fields this version does not know.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from lnamespace.plugins.errors import KubectlError

Object = dict[str, Any]

VERSION = "v1beta1"
KIND = "LNamespace"
# A second instance on the same cluster has its own API group; this picks which one is meant.
SUFFIX_VARIABLE, DEFAULT_SUFFIX = "LNAMESPACE_API_GROUP_SUFFIX", "loblaw.digital"

LABEL_RULE = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL_LENGTH = 63

# Reasons of Ready=False that stay until somebody changes something.
TERMINAL_REASONS = frozenset(("Conflict", "ReservedName", "InvalidSpec"))


def group() -> str:
    """The API group LNamespaces are in."""
    return f"tenancy.{os.environ.get(SUFFIX_VARIABLE) or DEFAULT_SUFFIX}"


def collection() -> str:
    """The path of all LNamespaces."""
    return f"/apis/{group()}/{VERSION}/lnamespaces"


def path(name: str) -> str:
    """The path of one LNamespace; the name must have passed `check_name`."""
    return f"{collection()}/{name}"


def qualified(name: str) -> str:
    """The name as kubectl writes it in its own messages."""
    return f"lnamespace.{group()}/{name}"


def name_fault(name: str) -> str | None:
    """What is wrong with a name, in Kubernetes' own words; None for a good one."""
    if len(name) > LABEL_LENGTH:
        return "must be no more than 63 bytes"
    if not re.fullmatch(LABEL_RULE, name):
        return (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
            f"regex used for validation is '{LABEL_RULE}')"
        )
    return None


def check_name(name: str) -> str:
    """The name, known to be safe in a path; anything else cannot be an LNamespace's name."""
    fault = name_fault(name)
    if fault:
        raise KubectlError(
            f'The {KIND} "{name}" is invalid: metadata.name: Invalid value: "{name}": {fault}'
        )
    return name


class Condition(NamedTuple):
    """One condition of an LNamespace's status."""

    type: str
    status: str
    reason: str
    message: str


def conditions(lns: Object) -> tuple[Condition, ...]:
    """The conditions in the order the operator gives them."""
    return tuple(
        Condition(*(str(item.get(key) or "") for key in ("type", "status", "reason", "message")))
        for item in lns.get("status", {}).get("conditions") or ()
    )


def ready(lns: Object) -> Condition | None:
    """The summary condition, if there is one yet."""
    return next((item for item in conditions(lns) if item.type == "Ready"), None)


def current(lns: Object) -> bool:
    """Whether the status is about the spec as it is now."""
    observed = lns.get("status", {}).get("observedGeneration") or 0
    return bool(observed >= (lns["metadata"].get("generation") or 1))


def sudoers_group(lns: Object) -> str:
    """The group that sudoers impersonate: the operator's word, or its default until then."""
    said = lns.get("status", {}).get("sudoersGroup")
    return str(said) if said else default_sudoers_group(name_of(lns))


def default_sudoers_group(name: str) -> str:
    """The group where nothing else is configured."""
    return f"{name}-sudoers"


def name_of(lns: Object) -> str:
    """The name of the LNamespace and of its namespace."""
    return str(lns["metadata"]["name"])
