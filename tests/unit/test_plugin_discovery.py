"""Which API group the plugins take, against an executable that answers as kubectl does."""

import json
from pathlib import Path

import pytest
from lnamespace.plugins.commands import entry
from lnamespace.plugins.commands.entry import discovering
from lnamespace.plugins.model.api_group import SUFFIX_VARIABLE, group
from lnamespace.plugins.model.lnamespaces import default_sudoers_group
from lnamespace.plugins.runtime.errors import OtherApiGroup, PluginError

KUBECTL = """\
#!/bin/sh
echo "$3" >> "{asked}"
file="{answers}/$(echo "$3" | tr / _)"
[ -f "$file" ] && exec cat "$file"
exit 1
"""
REFUSAL = PluginError("this cluster has no LNamespaces")


class Cluster:
    """What `kubectl get --raw` answers."""

    def __init__(self, folder: Path) -> None:
        self.answers, self.asked = folder / "answers", folder / "asked"
        self.answers.mkdir()
        self.asked.touch()
        self.kubectl = folder / "kubectl"
        self.kubectl.write_text(KUBECTL.format(asked=self.asked, answers=self.answers))
        self.kubectl.chmod(0o755)

    def serves(self, **resources: str) -> None:
        """API groups by suffix, with the one resource that each has."""
        names = {f"tenancy.{suffix.replace('_', '.')}": r for suffix, r in resources.items()}
        versions = [{"version": "v1beta1"}]
        self._put("/apis", {"groups": [{"name": n, "versions": versions} for n in names]})
        for name, resource in names.items():
            self._put(f"/apis/{name}/v1beta1", {"resources": [{"name": resource}]})

    def has(self, path: str) -> None:
        """Add an object."""
        self._put(path, {})

    def _put(self, path: str, answer: object) -> None:
        (self.answers / path.replace("/", "_")).write_text(json.dumps(answer))

    @property
    def requests(self) -> list[str]:
        """Return what has been asked."""
        return self.asked.read_text().split()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(tmp_path)
    monkeypatch.setenv("KUBECTL", str(made.kubectl))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "kubeconfig").touch()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    # Set and taken away, so that what a command sets is undone afterwards.
    monkeypatch.setenv(SUFFIX_VARIABLE, "")
    return made


def command(*there: str, name: str = "") -> tuple[list[str], entry.Command]:
    """Return a command that works in some groups only, and in which it was run."""
    tried: list[str] = []

    def run(argv: list[str]) -> int:
        assert argv is not None
        tried.append(group())
        if group() in there:
            return 0
        raise OtherApiGroup(REFUSAL, (), name)

    return tried, run


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process begins."""
    monkeypatch.setenv(SUFFIX_VARIABLE, "")


def test_an_existing_default_group_needs_no_discovery(cluster: Cluster) -> None:
    tried, run = command("tenancy.loblaw.digital")
    assert discovering(run, []) == 0
    assert tried == ["tenancy.loblaw.digital"]
    assert cluster.requests == []


def test_the_suffix_of_the_environment_variable_is_used_without_discovery(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SUFFIX_VARIABLE, "example.com")
    cluster.serves(example_org="lnamespaces")
    tried, run = command("tenancy.example.org")
    with pytest.raises(PluginError) as caught:
        discovering(run, [])
    assert caught.value is REFUSAL
    assert tried == ["tenancy.example.com"]
    assert cluster.requests == []


def test_the_only_existing_group_is_discovered_and_remembered(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Others have such groups too, of other kinds.
    cluster.serves(example_com="lnamespaces", kiosk_sh="accounts")
    tried, run = command("tenancy.example.com")
    assert discovering(run, []) == 0
    assert tried == ["tenancy.loblaw.digital", "tenancy.example.com"]
    asked = len(cluster.requests)
    forget(monkeypatch)
    assert discovering(run, []) == 0
    assert tried[2:] == ["tenancy.example.com"]
    assert len(cluster.requests) == asked
    assert default_sudoers_group("team-a") == "team-a-sudoers.example.com"


@pytest.mark.parametrize("change", ["context", "flag", "age", "damage"])
def test_a_remembered_group_is_limited_to_one_cluster_and_expires(
    change: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster.serves(example_com="lnamespaces")
    tried, run = command("tenancy.example.com")
    discovering(run, [])
    forget(monkeypatch)
    argv = ["--context=other"] if change == "flag" else []
    if change == "context":
        (tmp_path / "kubeconfig").write_text("current-context: other")
    if change == "age":
        monkeypatch.setattr(entry, "GROUPS", entry.GROUPS._replace(seconds=0))
    if change == "damage":
        (tmp_path / "cache" / "lnamespace" / "api-groups").write_text("1\t{")
    assert discovering(run, argv) == 0
    assert tried[2:] == ["tenancy.loblaw.digital", "tenancy.example.com"]


def test_the_group_is_discovered_each_time_without_a_kubeconfig(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "kubeconfig").unlink()
    cluster.serves(example_com="lnamespaces")
    tried, run = command("tenancy.example.com")
    for _ in range(2):
        forget(monkeypatch)
        assert discovering(run, []) == 0
    assert tried == ["tenancy.loblaw.digital", "tenancy.example.com"] * 2


@pytest.mark.parametrize("flag", [("--kubeconfig", "mine"), ("--kubeconfig=mine",)])
def test_a_changed_kubeconfig_named_by_a_flag_causes_new_discovery(
    flag: tuple[str, ...], cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").touch()
    cluster.serves(example_com="lnamespaces")
    tried, run = command("tenancy.example.com")
    for _ in range(2):
        forget(monkeypatch)
        assert discovering(run, [*flag]) == 0
    assert tried[2:] == ["tenancy.example.com"]
    forget(monkeypatch)
    Path("mine").write_text("current-context: other")
    assert discovering(run, [*flag]) == 0
    assert tried[3:] == ["tenancy.loblaw.digital", "tenancy.example.com"]


@pytest.mark.parametrize("server", [("--server=https://a",), ("-s", "a"), ("-shttps://a",)])
def test_a_token_on_the_command_line_is_not_written_to_the_cache(
    server: tuple[str, ...], cluster: Cluster, tmp_path: Path
) -> None:
    cluster.serves(example_com="lnamespaces")
    discovering(command("tenancy.example.com")[1], ["lns", "list", *server, "--token=secret"])
    written = (tmp_path / "cache" / "lnamespace" / "api-groups").read_text()
    assert "https://a" in written or "-s=a" in written
    assert "secret" not in written


def test_a_remembered_group_that_is_gone_causes_new_discovery(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.serves(example_com="lnamespaces")
    discovering(command("tenancy.example.com")[1], [])
    forget(monkeypatch)
    cluster.serves(loblaw_digital="lnamespaces")
    tried, run = command("tenancy.loblaw.digital")
    assert discovering(run, []) == 0
    assert tried == ["tenancy.example.com", "tenancy.loblaw.digital"]


def test_the_user_must_choose_among_several_groups(cluster: Cluster) -> None:
    cluster.serves(b_example="lnamespaces", a_example="lnamespaces")
    with pytest.raises(PluginError, match=r"SUFFIX to one of: a[.]example, b[.]example"):
        discovering(command()[1], [])


def test_a_refusal_by_the_default_group_is_reported_without_discovery(cluster: Cluster) -> None:
    cluster.serves(loblaw_digital="lnamespaces", example_com="lnamespaces")
    tried, run = command("tenancy.example.com")
    with pytest.raises(PluginError) as caught:
        discovering(run, [])
    assert caught.value is REFUSAL
    assert tried == ["tenancy.loblaw.digital"]


def test_an_lnamespace_of_another_instance_is_found_by_its_name(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.serves(loblaw_digital="lnamespaces", example_com="lnamespaces", c="lnamespaces")
    cluster.has("/apis/tenancy.example.com/v1beta1/lnamespaces/team-a")
    tried, run = command("tenancy.example.com", name="team-a")
    assert discovering(run, []) == 0
    assert tried == ["tenancy.loblaw.digital", "tenancy.example.com"]
    # That is so for this name only.
    forget(monkeypatch)
    discovering(run, [])
    assert tried[2:] == ["tenancy.loblaw.digital", "tenancy.example.com"]


def test_an_unreachable_cluster_leaves_the_original_error(cluster: Cluster) -> None:
    with pytest.raises(PluginError) as caught:
        discovering(command()[1], [])
    assert caught.value is REFUSAL
    assert cluster.requests == ["/apis"]


def test_the_group_is_discovered_each_time_without_a_usable_cache_directory(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    cluster.serves(example_com="lnamespaces")
    tried, run = command("tenancy.example.com")
    for _ in range(2):
        assert discovering(run, []) == 0
        forget(monkeypatch)
    assert tried == ["tenancy.loblaw.digital", "tenancy.example.com"] * 2


def test_a_chosen_suffix_is_named_as_a_cause_where_nothing_is_found(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistyped one was told as an operator that is not installed."""
    cluster.serves(loblaw_digital="lnamespaces")
    monkeypatch.setenv(SUFFIX_VARIABLE, "loblaw.digitol")

    def run(_: list[str]) -> int:
        raise OtherApiGroup(PluginError("this cluster has no LNamespaces"), ())

    with pytest.raises(PluginError) as told:
        discovering(run, [])
    assert str(told.value) == (
        "this cluster has no LNamespaces\n"
        f"{SUFFIX_VARIABLE} is loblaw.digitol; is that the one you mean?"
    )


@pytest.mark.parametrize(
    "chosen", ["Loblaw.digital", "a..b", ".a", "a.", "-a.b", "a b", "a/b", "a?x=y", "ä.b", "a" * 64]
)
def test_a_suffix_that_is_no_dns_name_is_refused(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SUFFIX_VARIABLE, chosen)
    with pytest.raises(PluginError, match="is no DNS name") as told:
        group()
    assert told.value.exit_code == 2
