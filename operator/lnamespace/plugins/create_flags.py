"""The flags that say what an LNamespace shall be, of `kubectl create lns` and `kubectl lns`."""

from __future__ import annotations

from lnamespace.plugins.arguments import Flags

ROLES = ("user", "manager", "sudoer")
BILLING = {
    "cost-center": "costCenter",
    "owner": "owner",
    "team": "team",
    "environment": "environment",
}  # flag, and field of spec.billing
SETTINGS = {"profile": "profile", "deletion-policy": "deletionPolicy"}  # flag, and field of spec
POLICIES = ("Delete", "Retain")
KEYED = ("label", "billing-label")
FLAGS = Flags(
    valued=frozenset((*ROLES, *BILLING, *KEYED, "profile", "deletion-policy", "timeout", "output")),
    switches=frozenset(("deletion-protection", "wait")),
    optional=frozenset(("dry-run",)),
    shorts={"o": "output"},
)
