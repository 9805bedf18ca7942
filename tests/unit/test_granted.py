"""What our accounts may do, by the chart: nothing is left of former ways of doing things."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

GOLDEN = Path(__file__).resolve().parents[1] / "e2e" / "golden" / "chart" / "default.yaml"
ROLES = [
    item
    for item in yaml.safe_load_all(GOLDEN.read_text())
    if item["kind"] in ("ClusterRole", "Role")
]
ACCOUNTS = ("controller", "webhook", "ledger")


def granted(account: str) -> Iterator[tuple[str, str]]:
    """Verb and resource of every rule of the roles that are called after one of the accounts."""
    for role in ROLES:
        part = role["metadata"]["name"].split(":")[1]
        if part == account or part.startswith(f"{account}-"):
            for rule in role.get("rules") or ():
                yield from _of(rule)


def _of(rule: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for verb in rule["verbs"]:
        yield from ((verb, resource) for resource in rule["resources"])


UNUSED = {
    "controller": {
        # It makes records, and knows what it made by the status; the ledger reads them.
        *((verb, "billingrecords") for verb in ("get", "list", "watch", "patch", "delete")),
        # Each Event is a new one.
        *((verb, "events") for verb in ("get", "list", "watch", "update", "patch", "delete")),
        # The answer to a patch tells the rest.
        ("get", "lnamespaces/status"),
        ("update", "lnamespaces/status"),
        ("delete", "namespaces"),
    },
    "webhook": {("update", "secrets"), ("list", "secrets"), ("delete", "secrets")},
    "ledger": {("patch", "billingrecords"), ("deletecollection", "billingrecords")},
}


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_chart_grants_no_unused_permission(account: str) -> None:
    """Six rights were left when what needed them had gone."""
    found = {*granted(account)}
    assert found
    assert not found & UNUSED[account]


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_chart_grants_no_wildcard_permission(account: str) -> None:
    assert not [right for right in granted(account) if "*" in right]
