"""Who pays, through the real webhook: for people with groups, accounts, sudoers and managers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.support.cluster import Cluster
from tests.e2e.support.people import People, Person
from tests.e2e.support.processes import Webhook
from tests.e2e.support.rights import Rights
from tests.e2e.support.tenants import Tenants
from tests.e2e.support.waiting import eventually

PAYERS = r"""
entries:
- {group: red, billing: {costCenter: "1", team: reds}}
- {group: green, billing: {costCenter: "2"}}
- {group: urgent, priority: 5, billing: {costCenter: "3"}}
- {groupPattern: 'cc-(?P<costCenter>\d+).*', billing: {environment: test}}
- {user: payer-bob, billing: {costCenter: "4"}}
freeChoiceGroups: [finance]
"""


@dataclass(frozen=True)
class PayersFile:
    """The payers' file that the webhook reads, a while after it is written."""

    path: Path
    webhook: Webhook

    def tell(self, text: str, answer: str = "read who pays by default") -> None:
        """Change it, all at once as a ConfigMap's, and wait until the webhook has met it."""
        if self.path.exists() and self.path.read_text() == text:
            return
        since = self.webhook.position
        other = self.path.with_suffix(".new")
        other.write_text(text)
        other.replace(self.path)
        if self.webhook.running:
            eventually(lambda: answer in self.webhook.log(since))


@pytest.fixture(scope="module")
def file(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PayersFile]:
    """Yield the payers' file that the webhook reads."""
    file = PayersFile(tmp_path_factory.mktemp("payers") / "payers.yaml", cluster.webhook)
    cluster.webhook.stop()
    file.tell(PAYERS)
    cluster.webhook.start({"LNAMESPACE_PAYERS_FILE": str(file.path)})
    yield file
    cluster.webhook.stop()
    cluster.webhook.start()


@pytest.fixture
def payers(file: PayersFile) -> Iterator[PayersFile]:
    """Yield the file as it is at the beginning of each test."""
    yield file
    file.tell(PAYERS)


def charged(person: Person, name: str, *flags: str) -> tuple[str, str]:
    """Whom an LNamespace would be charged to, and where that came from."""
    command = ("create", "lns", name, "--dry-run=server", "-o", "json", *flags)
    billing = json.loads(person.kubectl(*command).ok())["spec"]["billing"]
    assert billing["provenance"]["changedBy"] == person.name
    return billing["costCenter"], billing["provenance"]["source"]


@pytest.mark.usefixtures("payers")
@pytest.mark.parametrize(
    ("name", "groups", "flags", "expected"),
    [
        ("payer-a", ("red", "other"), (), ("1", "Group")),
        ("payer-b", ("red", "green", "urgent"), (), ("3", "Group")),
        ("payer-c", ("red", "green"), ("--cost-center", "2"), ("2", "Explicit")),
        ("payer-d", ("cc-77", "other"), (), ("77", "Group")),
        ("payer-bob", ("red",), (), ("4", "User")),
        ("payer-e", ("other",), (), ("unallocated", "Default")),
        ("payer-f", ("finance",), ("--cost-center", "99"), ("99", "Explicit")),
    ],
)
def test_the_cost_center_follows_groups_users_and_explicit_choice(
    name: str,
    groups: tuple[str, ...],
    flags: tuple[str, ...],
    expected: tuple[str, str],
    people: People,
    tenants: Tenants,
) -> None:
    assert charged(people.person(name, *groups), tenants.name("pays"), *flags) == expected


@pytest.mark.usefixtures("payers")
def test_a_refusal_lists_the_flags_that_resolve_it(people: People, tenants: Tenants) -> None:
    torn = people.person("payer-torn", "red", "green")
    name = tenants.name("torn")
    assert torn.kubectl("create", "lns", name).refused() == (
        f'The LNamespace "{name}" is invalid: spec.billing.costCenter: Required value: several '
        "could pay, so say which one:\n"
        '  costCenter: "1"  or  --cost-center 1  (group "red")\n'
        '  costCenter: "2"  or  --cost-center 2  (group "green")\n'
    )
    refused = torn.kubectl("create", "lns", name, "--cost-center", "9").refused()
    assert 'Forbidden: you may not charge "9"; you may charge:' in refused
    assert "May charge: 1, 2\n" in torn.kubectl("lns", "whoami").ok()
    torn.kubectl("create", "lns", name, "--cost-center", "1").ok()
    assert tenants.ready(name)["spec"]["billing"]["team"] == "reds"


def test_a_resolved_cost_center_stays_until_it_is_edited(
    people: People, tenants: Tenants, payers: PayersFile, rights: Rights
) -> None:
    red = people.person("payer-red", "red")
    name = tenants.name("stays")
    red.kubectl("create", "lns", name).ok()
    payers.tell(PAYERS.replace('"1"', '"10"'))
    eventually(lambda: rights.edits(red.who, name))
    red.kubectl("lns", "grant", name, "--user", "somebody").ok()
    assert tenants.get(name)["spec"]["billing"]["costCenter"] == "1"
    patch = ("patch", "lns", name, "--type=merge", "-p")
    red.kubectl(*patch, '{"spec":{"billing":{"costCenter":"10"}}}').ok()
    billing = tenants.get(name)["spec"]["billing"]
    assert (billing["costCenter"], billing["provenance"]["source"]) == ("10", "Explicit")
    refused = red.kubectl(*patch, '{"spec":{"billing":{"costCenter":"2"}}}').refused()
    assert 'you may not charge "2"' in refused
    assert "somebody must pay" in red.kubectl(*patch, '{"spec":{"billing":null}}').refused()
    red.kubectl(*patch, '{"spec":{"billing":{"team":"mine"}}}').ok()


@pytest.mark.usefixtures("payers")
def test_groups_of_the_person_do_not_count_under_sudo(
    people: People, tenants: Tenants, rights: Rights
) -> None:
    red = people.person("payer-red", "red")
    name = tenants.name("sudo")
    red.kubectl("create", "lns", name, "--wait").ok()
    eventually(lambda: rights.sudoes(red.who, name))
    other = tenants.name("sudo-other")
    refused = red.kubectl("sudo", "-n", name, "create", "lns", other).refused()
    assert "do not count under `kubectl sudo`" in refused
    bob = people.person("payer-bob", "red")
    named = tenants.name("sudo-named")
    bob.kubectl("create", "lns", named).ok()
    eventually(lambda: rights.sudoes(bob.who, named))
    bob.kubectl("sudo", "-n", named, "create", "lns", other).ok()
    assert tenants.get(other)["spec"]["billing"]["costCenter"] == "4"


@pytest.mark.usefixtures("payers")
def test_a_group_named_after_a_tenants_lnamespace_cannot_charge_others(
    people: People, tenants: Tenants, rights: Rights
) -> None:
    """Its sudoers and its ServiceAccounts are in groups that fit the pattern."""
    mallory = people.person("payer-mallory")
    mallory.kubectl("create", "lns", "cc-4711").ok()
    eventually(lambda: rights.sudoes(mallory.who, "cc-4711"))
    loot = tenants.name("loot")
    assert mallory.kubectl("sudo", "-n", "cc-4711", "create", "lns", loot).refused()
    refused = mallory.kubectl(
        "sudo", "-n", "cc-4711", "create", "lns", loot, "--cost-center", "4711"
    ).refused()
    assert 'you may not charge "4711"' in refused
    tenants.delete("cc-4711")


@pytest.mark.usefixtures("payers")
def test_a_service_account_inherits_the_payer_of_its_namespace(
    people: People, tenants: Tenants, rights: Rights
) -> None:
    red = people.person("payer-red", "red")
    home = tenants.name("home")
    red.kubectl("create", "lns", home).ok()
    deployer = people.account(home, "deployer")
    # Everybody who works there can act as it: only a manager can let it charge the team.
    warned = deployer.kubectl("create", "lns", tenants.name("unlisted"), "--dry-run=server")
    assert "only if a manager lists it there" in warned.err
    account = f"serviceaccount:{home}:deployer"
    eventually(lambda: rights.edits(red.who, home))
    red.kubectl("lns", "grant", home, "--manager", account).ok()
    assert charged(deployer, tenants.name("deployed")) == ("1", "Inherited")
    refused = deployer.kubectl("create", "lns", tenants.name("not"), "--cost-center", "2")
    assert 'you may not charge "2"' in refused.refused()


def test_the_payers_file_is_reloaded_and_an_invalid_file_is_ignored(
    people: People, tenants: Tenants, payers: PayersFile, cluster: Cluster
) -> None:
    red = people.person("payer-red", "red")
    name = tenants.name("anew")
    assert charged(red, name) == ("1", "Group")
    payers.tell("entries:\n- {group: red, billing: {costCenter: '11'}}\n")
    assert charged(red, name) == ("11", "Group")
    since = cluster.webhook.position
    wrong = "entries:\n- {group: red, billing: {costCenter: 12}}\n"
    payers.tell(wrong, "the payers cannot be used")
    assert charged(red, name) == ("11", "Group")
    words = "payers.yaml:2: entries[0].billing.costCenter: must be text"
    eventually(lambda: words in cluster.webhook.log(since))


@pytest.mark.usefixtures("payers")
def test_the_ledger_command_shows_payer_start_and_reason(
    people: People, tenants: Tenants, cluster: Cluster
) -> None:
    red = people.person("payer-red", "red")
    name = tenants.name("told")
    red.kubectl("create", "lns", name, "--team", "=SUM(A1)", "--billing-label", "k=a,b").ok()
    lines = red.kubectl("lns", "ledger", name).ok().splitlines()
    assert lines[0].split()[:3] == ["SINCE", "COST", "CENTER"]
    assert "the entry of group red" in lines[1]
    (row,) = json.loads(red.kubectl("lns", "ledger", name, "-o", "json").ok())
    assert (row["cost_center"], row["team"]) == ("1", "=SUM(A1)")
    assert (row["changed_by"], row["billing_source_group"]) == ("payer-red", "red")
    assert row["ledger"] == "recorded"
    header, line = red.kubectl("lns", "ledger", name, "-o", "csv").ok().splitlines()
    assert header.startswith('"namespace","valid_from","cost_center",')
    assert '"\'=SUM(A1)"' in line
    assert '"{""k"": ""a,b""}"' in line
    admin = json.loads(cluster.run("kubectl", "lns", "ledger", name, "-o=json").ok())
    assert admin[0]["ledger"] in ("waiting", "written")
    assert "no LNamespace" in red.kubectl("lns", "ledger", "nope").refused()
    assert red.kubectl("lns", "ledger").code == 2
