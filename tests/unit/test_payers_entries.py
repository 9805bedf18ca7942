"""The file that says who pays: read, refused with the line and the remedy, read anew."""

import contextlib
import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.cli import main
from lnamespace.errors import PayersError
from lnamespace.model.billing import Charge
from lnamespace.model.names import Names
from lnamespace.payers.entries import (
    GROUPS_MAX,
    UNALLOCATED,
    DirectoryConfig,
    Fallback,
    Payers,
    Requester,
    requester_of,
)
from lnamespace.payers.file import PayersFile
from lnamespace.payers.parsing import decode
from lnamespace.payers.patterns import compile_pattern

FULL = """
default: {costCenter: overhead, team: platform}
onMissing: Reject
onAmbiguous: Default
freeChoiceGroups: [finance@example.com]
directory: {provider: CloudIdentity, refreshMinutes: 5}
entries:
- user: alice
  billing: {costCenter: "4711", owner: alice, labels: {product: checkout}}
- group: payments@example.com
  priority: 10
  billing: {costCenter: "2040", team: payments}
- groupPattern: 'cc-(?P<costCenter>\\d+)@example\\.com'
  billing: {environment: development}
"""


def test_every_field_of_the_file_is_read() -> None:
    payers = decode(FULL.encode(), "payers.yaml")
    assert payers.default == Charge("overhead", team="platform")
    assert (payers.on_missing, payers.on_ambiguous) == (Fallback.REJECT, Fallback.DEFAULT)
    assert payers.free_choice_groups == {"finance@example.com"}
    assert payers.directory == DirectoryConfig(5)
    alice, payments, numbered = payers.entries
    assert alice.user == "alice"
    assert alice.charge == Charge("4711", "alice", labels={"product": "checkout"})
    assert (payments.group, payments.priority) == ("payments@example.com", 10)
    assert numbered.pattern is not None
    assert numbered.pattern.captured("cc-77@example.com") == {"cost_center": "77"}


@pytest.mark.parametrize("content", ["{}", "entries: []"])
def test_an_explicitly_empty_payers_file_configures_nothing(content: str) -> None:
    assert decode(content.encode(), "payers.yaml") == Payers()
    assert Payers().default == UNALLOCATED


@pytest.mark.parametrize("content", ["", "# nothing\n", "\ufeff", " \n"])
def test_a_payers_file_without_content_is_refused(content: str) -> None:
    with pytest.raises(PayersError, match="is empty; to configure nothing, write"):
        decode(content.encode(), "payers.yaml")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "entries:\n- user: alice\n  billing: {costCenter: 4711}",
            'p.yaml:3: entries[0].billing.costCenter: must be text: put it in quotes, such as "47',
        ),
        (
            "entries:\n- user: alice\n  billing: {costcenter: '1'}",
            'p.yaml:3: entries[0].billing: unknown field "costcenter"; did you mean costCenter?',
        ),
        ("group: red", 'p.yaml:1: unknown field "group"'),
        ("entry: []", 'p.yaml:1: unknown field "entry"; did you mean entries?'),
        ("entries:\n- user: alice", "p.yaml:2: entries[0]: needs a billing.costCenter"),
        ("entries: [{user: a, group: b}]", "needs one of user, group and groupPattern"),
        ("entries: [{billing: {costCenter: x}}]", "needs one of user, group and groupPattern"),
        ("entries: 3", "entries: must be a list"),
        ("- user: a", "must be a mapping"),
        ("onMissing: reject", "p.yaml:1: onMissing: must be Default or Reject"),
        ("default: {owner: x}", "default: needs a costCenter"),
        ("directory: {provider: LDAP}", "directory.provider: must be CloudIdentity"),
        ("directory: {provider: CloudIdentity, refreshMinutes: 0}", "refreshMinutes"),
        ("\nentries: []\nentries: []", "p.yaml:3:1: the key 'entries' is given twice"),
        ("entries: [{user: a, user: b}]", "the key 'user' is given twice"),
        ("entries: [", "p.yaml:1:11: "),
        ("? [a]\n: b", "a key must be text"),
        ("a: &x [*x]", "p.yaml: not YAML: "),
        ("entries: [{groupPattern: '(x'}]", "entries[0].groupPattern: not a regular expression"),
        ("entries: [{groupPattern: '(?P<cost>x)'}]", "must be one of costCenter, owner, team"),
        (
            "entries: [{groupPattern: '(?P<costCenter>x)', billing: {costCenter: x}}]",
            "entries[0].billing.costCenter: the groupPattern fills this in",
        ),
        ("entries: [{user: 'a ', billing: {costCenter: x}}]", "entries[0].user: must have no"),
        ('entries: [{user: a, billing: {costCenter: "x\\n"}}]', "billing.costCenter: must have no"),
        ('entries: [{user: a, billing: {costCenter: x, labels: {k: "\\e"}}}]', "labels.k: must"),
        ('entries: [{user: a, billing: {costCenter: x, team: "\U0001f6e0\ufe0f"}}]', "team: must"),
        ('default: {costCenter: x, labels: {"k\u2800": v}}', "labels: must have no control"),
        ("default: {costCenter: x, labels: {" + "k" * 64 + ": v}}", "keys may have at most 63"),
        ("default: {costCenter: x, owner: " + "o" * 1025 + "}", "owner: may not be more than 1024"),
        (
            "default: {costCenter: x, labels: {"
            + ", ".join(f"{key}: {key * 1000}" for key in "abcdefghi")
            + "}}",
            "default: may not be more than 8192 bytes",
        ),
        ('freeChoiceGroups: [a, "b\\0"]', "freeChoiceGroups[1]: must have no"),
        ("entries: [" + "{groupPattern: x, billing: {costCenter: y}}," * 51 + "]", "at most 50"),
        ("#" * 1024 * 1025, "larger than"),
    ],
)
def test_an_invalid_file_is_refused_with_the_line_and_the_remedy(content: str, said: str) -> None:
    with pytest.raises(PayersError) as refusal:
        decode(content.encode(), "p.yaml")
    assert said in str(refusal.value)


@given(st.one_of(st.binary(max_size=60), st.text("[]{}:,- \n'\"&*?entriesuser", max_size=60)))
def test_any_file_content_is_decoded_or_refused(content: bytes | str) -> None:
    data = content.encode() if isinstance(content, str) else content
    with contextlib.suppress(PayersError):
        assert isinstance(decode(data, "payers.yaml"), Payers)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?=a)a",
        r"(.)\1",
        r"(?:(?:a{1,30}){1,30})x",
        r"(?:.?){1000}x",
        r"((a{0,100}){0,100}){0,100}",
        "(" * 500 + "a" + ")" * 500,
        "\ud800",
        r"(?P<team>.)(?P=team)",
        r"[a",
        "(" * 1000 + ")",
    ],
)
def test_an_unsupported_or_too_large_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PayersError):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"a?a?a?.*?.*?.*?x",
        r"(?:a|a)(?:a|a)(?:a|a)\w+\w+\w+x",
        r"(?P<costCenter>[a-z]+)[a-z]+[a-z]+-",
        "a?" * 100 + "x",
        r"(a+)+x",
        r"(a|a)*x",
        r".*.*.*.*.*.*.*.*x",
        r"(?:a{1,20}){1,20}x",
    ],
)
def test_the_worst_case_name_for_a_pattern_is_matched_quickly(pattern: str) -> None:
    before = time.process_time()
    assert compile_pattern(pattern).captured("a" * 256) is None
    assert time.process_time() - before < 0.1


@pytest.mark.parametrize(
    "group",
    ["cc-1x", "xcc-1", "cc-1\n", "cc-\uff11", "CC-1", "cc-" + "1" * 300, "cc-", "cc-1\u200b"],
)
@pytest.mark.parametrize("pattern", [r"^cc-(?P<costCenter>\d+)$", r"cc-(?P<costCenter>\d+)"])
def test_a_pattern_matches_the_whole_name(group: str, pattern: str) -> None:
    assert compile_pattern(pattern).captured(group) is None


def test_names_with_invisible_characters_are_not_matched() -> None:
    assert compile_pattern(r"cc-(?P<costCenter>.+)").captured("cc-1\u200b") is None


@pytest.mark.parametrize("group", ["system:serviceaccounts:cc-1", "system:masters"])
def test_a_pattern_never_matches_system_groups(group: str) -> None:
    """Whoever makes an LNamespace `cc-1` has ServiceAccounts in such a group."""
    assert compile_pattern(r".*?(?P<costCenter>cc-\d+|masters)").captured(group) is None


def test_the_groups_of_a_user_with_too_many_groups_are_ignored() -> None:
    """A request of 6.6 MB with 300,000 groups took 13 s against 50 patterns."""
    many = [f"group-{number}" for number in range(300_000)]
    before = time.process_time()
    person = requester_of("bob", many, Names())
    assert time.process_time() - before < 2
    assert person == Requester("bob", crowded=True)
    assert not requester_of("bob", many[:GROUPS_MAX], Names()).crowded


def test_sudoers_groups_are_ignored_for_billing() -> None:
    """Whoever makes an LNamespace `cc-1` may impersonate group `cc-1-sudoers`."""
    groups = ["cc-1-sudoers", "cc-1-sudoers@example.com", "system:authenticated"]
    person = requester_of("bob", groups, Names())
    assert person.groups == {"cc-1-sudoers@example.com", "system:authenticated"}
    assert not person.sudo
    assert requester_of("bob", ["cc-1-sudoers", "system:authenticated"], Names()).sudo
    other = Names(sudoers_group_format="k8s:{name}:sudo")
    assert requester_of("bob", ["k8s:cc-1:sudo", "x-sudoers"], other).groups == {"x-sudoers"}
    # Nor if a directory says so; but of a name that no LNamespace can have, it is a group.
    assert not requester_of("bob", [], Names(), frozenset({"cc-1-sudoers"})).groups
    assert requester_of("bob", ["Ops-sudoers"], Names()).groups == {"Ops-sudoers"}


def test_a_sudo_account_marks_the_requester_as_sudo() -> None:
    groups = ["system:serviceaccounts", "system:serviceaccounts:lnamespace-sudo"]
    assert requester_of("system:serviceaccount:lnamespace-sudo:a", groups, Names()).sudo
    assert not requester_of("system:serviceaccount:lnamespace:a", groups, Names()).sudo
    assert not requester_of("lnamespace-sudo:a", groups, Names()).sudo


@pytest.mark.parametrize(
    ("username", "home"),
    [("system:serviceaccount:ci:deployer", "ci"), ("alice", ""), ("system:node:ci", "")],
)
def test_the_home_of_a_service_account_is_its_namespace(username: str, home: str) -> None:
    assert requester_of(username, [], Names()).home == home


def say(path: Path, cost_center: str) -> None:
    """Write the file as a ConfigMap's volume does it: a new file, and a link that is swapped."""
    target = path.with_name(f"..{cost_center}.yaml")
    target.write_text(f"default: {{costCenter: {cost_center}}}\n")
    link = path.with_name("..new")
    link.symlink_to(target)
    link.rename(path)


def test_a_changed_payers_file_is_reloaded(tmp_path: Path) -> None:
    path = tmp_path / "payers.yaml"
    say(path, "one")
    file = PayersFile(str(path))
    assert file.current.default.cost_center == "one"
    assert file.current is file.current
    say(path, "two")
    file.refresh()
    assert file.current.default.cost_center == "two"
    path.write_text("default: {costCenter: six}\n")
    file.refresh()
    file.refresh()
    assert file.current.default.cost_center == "six"


ENTRY = "- {{user: {}, billing: {{costCenter: x}}}}\n"
TWO = "default: {costCenter: good}\nentries:\n" + ENTRY.format("alice") + ENTRY.format("bob")


def test_a_file_overwritten_in_place_is_reloaded_when_it_is_complete(tmp_path: Path) -> None:
    """Half of it was taken within a second: it is a good file, of fewer entries."""
    path = tmp_path / "payers.yaml"
    path.write_text(TWO)
    file = PayersFile(str(path))
    with path.open("w") as being_written:
        being_written.write(TWO.replace("good", "better").removesuffix(ENTRY.format("bob")))
        being_written.flush()
        file.refresh()
        assert len(file.current.entries) == 2
        being_written.write(ENTRY.format("bob"))
    for _ in range(2):
        file.refresh()
        assert len(file.current.entries) == 2
    assert file.current.default.cost_center == "better"


@pytest.mark.parametrize("kept", range(1, len(TWO) - 1))
def test_a_truncated_payers_file_is_not_used(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "payers.yaml"
    path.write_text(TWO)
    file = PayersFile(str(path))
    path.write_text(TWO[:kept])
    for _ in range(3):
        file.refresh()
        assert len(file.current.entries) == 2
    assert str(path) in file.problem


def test_the_last_entry_can_be_removed(tmp_path: Path) -> None:
    path, new = tmp_path / "payers.yaml", tmp_path / "new"
    path.write_text(TWO)
    file = PayersFile(str(path))
    new.write_text(TWO.removesuffix(ENTRY.format("bob")))
    new.rename(path)
    file.refresh()
    assert len(file.current.entries) == 1
    assert not file.problem


@pytest.mark.parametrize(
    "broken",
    [
        *("entries: 3", "default: {costCenter: 1}", None, "", "# gone\n", "{}", "default: {"),
        *("entries:\n", "default: {costCenter: c} # no entries: why\n"),
    ],
)
def test_an_invalid_change_of_the_file_is_logged_and_not_used(
    tmp_path: Path, broken: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "payers.yaml"
    entries = "entries: [{user: alice, billing: {costCenter: x}}]\n"
    path.write_text(f"default: {{costCenter: good}}\n{entries}")
    file = PayersFile(str(path))
    with caplog.at_level(logging.ERROR):
        if broken is None:
            path.unlink()
        else:
            path.write_text(broken)
        for _ in range(3):
            file.refresh()
            assert file.current.default.cost_center == "good"
    assert str(path) in file.problem
    assert [record.levelname for record in caplog.records].count("ERROR") == 1
    assert len(file.current.entries) == 1
    path.write_text("default: {costCenter: better}\nentries: []")
    file.refresh()
    file.refresh()
    assert file.current.default.cost_center == "better"
    assert file.problem == ""


@pytest.mark.parametrize("content", ["entries: 3", "", "# nothing", None])
def test_an_invalid_file_is_an_error_at_the_start(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "payers.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(PayersError):
        PayersFile(str(path))


def test_no_payers_file_means_no_entries() -> None:
    assert PayersFile("").current == Payers()


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("payers.yaml").write_text(FULL)
    return "payers.yaml"


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ([], 0, "3 entries"),
        (["--user", "alice"], 0, "source: User\n"),
        (["--user", "bob", "--group", "payments@example.com"], 0, "source: Group ("),
        (["--user", "bob"], 1, "refused: nobody pays for you yet"),
        (["--user", "alice", "--cost-center", "1"], 1, "--cost-center 4711  (yours)"),
        (["--user", "bob", "--group", "finance@example.com", "--cost-center", "1"], 0, "freely"),
        (["--user", "bob", "--group", "a-sudoers"], 1, 'group "a-sudoers" does not count'),
        (["--user", "a\x1b[2J", "--cost-center", "b\nc"], 1, '"b\\nc"'),
    ],
)
def test_the_check_command_prints_the_payer_of_a_user(
    written: str, argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["payers", "check", written, *argv]) == code
    printed = capsys.readouterr().out
    assert said in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("1200-red@x", ""),
        (" 12-red@x", 'refused: costCenter " 12": must have no'),
        ("\uff11\uff12-red@x", "must be written in ordinary letters and digits"),
        ("shared-red@x", 'refused: costCenter "shared": '),
        ("12-red @x", 'refused: team "red ": must have no'),
    ],
)
def test_the_check_command_refuses_charges_that_the_api_refuses(
    written: str, group: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a pattern takes from the name of a group is in no file that could be checked."""
    pattern = "(?P<costCenter>.*)-(?P<team>.*)@x"
    Path(written).write_text(f"entries: [{{groupPattern: '{pattern}'}}]")
    code = main(["payers", "check", written, "--user", "bob", "--group", group])
    printed = capsys.readouterr().out
    assert (code, said in printed, "billing:" in printed) == (bool(said), True, not said)


def test_the_check_command_reports_an_invalid_file_on_one_line(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(written).write_text("entries: 3")
    assert main(["payers", "check", written]) == 1
    assert capsys.readouterr().err == "error: payers.yaml:1: entries: must be a list\n"


def test_reading_the_payers_file_imports_no_google_library() -> None:
    code = (
        "import sys; import lnamespace.payers.file, lnamespace.payers.directory;"
        "sys.exit(any(name in sys.modules for name in ('google.auth', 'requests', 'sqlalchemy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
