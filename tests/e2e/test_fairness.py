"""Changes of LNamespaces wait in queues of their own, so that a flood waits behind itself."""

import re

from tests.e2e.support.api import Api
from tests.e2e.support.people import People
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import eventually

LEVEL = "lnamespace-changes"


def let_in(admin: Api) -> int:
    """Return how many requests the API server has let in by the rules for such changes."""
    line = r'^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="(.*?)".*\} (\S+)$'
    found = re.findall(line, admin.text("/metrics"), re.MULTILINE)
    return sum(int(float(count)) for schema, count in found if schema == LEVEL)


def test_only_changes_by_people_use_the_separate_priority_level(
    people: People, tenants: Tenants, rights: Rights, admin: Api
) -> None:
    """Ten large changes at a time by one person kept everybody's watches 15 seconds behind."""
    alice, name = people.person("alice"), tenants.name("fair")
    before = let_in(admin)
    alice.kubectl("create", "lns", name, "--wait").ok()
    after = let_in(admin)
    assert after > before
    alice.kubectl("get", "lns", name).ok()
    assert let_in(admin) == after
    eventually(lambda: rights.edits(alice.who, name))
    alice.kubectl("delete", "lns", name, "--wait=false").ok()
    assert let_in(admin) == after + 1
