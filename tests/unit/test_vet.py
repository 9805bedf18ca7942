"""Snapshots as files, and the difference in words."""

import io
import json
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given
from lnamespace.access.vetting import URL, Right, vet_rights
from lnamespace.errors import OptionError, SettingsError
from lnamespace.vet import report, snapshot
from lnamespace.vet.cluster import ObservedRole
from lnamespace.vet.snapshot import Snapshot, Version
from rich.console import Console

from tests.unit.test_access_vetting import sets

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "vetted"
VETTED = Snapshot(
    "admin",
    "v1.36.3",
    "2026-11-21",
    frozenset(
        {
            Right("", "pods", "list"),
            Right("", "pods", "get"),
            Right("", "configmaps", "get", "one"),
            Right("apps", "deployments/scale", "update"),
            Right(URL, "/metrics", "get"),
        }
    ),
)
FILE = """\
# What a users' role gave that somebody looked through and found fit for tenants.
# Written by `lnamespace vet --record`. Who looked is for the history of this file to say.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: vetted-admin-1.36
  annotations:
    lnamespace/vetted-role: admin
    lnamespace/vetted-kubernetes: v1.36.3
    lnamespace/vetted-on: '2026-11-21'
rules:
- apiGroups: ['']
  resources: [configmaps]
  resourceNames: [one]
  verbs: [get]
- apiGroups: ['']
  resources: [pods]
  verbs: [get, list]
- apiGroups: [apps]
  resources: [deployments/scale]
  verbs: [update]
- nonResourceURLs: [/metrics]
  verbs: [get]
"""
RED = "\x1b[31m"


def test_a_snapshot_file_is_a_readable_cluster_role() -> None:
    assert snapshot.encode(VETTED) == FILE


@given(sets)
def test_a_snapshot_round_trips_through_its_file(given_rights: frozenset[Right]) -> None:
    written = Snapshot("admin", "v1.36.3", "2026-11-21", given_rights)
    assert snapshot.decode(snapshot.encode(written).encode()) == written


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.name)
def test_the_stored_snapshots_equal_their_serialized_form(path: Path) -> None:
    kept = snapshot.load(path)
    assert snapshot.encode(kept) == path.read_text()
    assert snapshot.file_of(FOLDER, snapshot.version_of(kept.server)) == path
    assert Right("", "pods", "create") in kept.rights


def test_a_snapshot_of_kubernetes_1_36_is_stored() -> None:
    assert (1, 36) in snapshot.recorded(FOLDER)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a snapshot"),
        ("rules: [", "not a snapshot"),
        ("kind: ClusterRole\nmetadata: {name: a}\nrules: []", "not a snapshot"),
        ("metadata: {annotations: {}}\nrules: []", "not a snapshot"),
        ("\x00", "not a snapshot"),
        (FILE.replace("[get, list]", "get"), "not a snapshot"),
        (FILE.replace("[get, list]", "['*']"), "cannot be vetted: a wildcard"),
        (FILE.replace("[configmaps]", "[nodes/proxy]"), "cannot be vetted: the kubelet"),
    ],
)
def test_an_invalid_snapshot_file_is_a_settings_error(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "1.36.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as told:
        snapshot.load(path)
    assert str(told.value).startswith(f"{path}: ")
    assert said in str(told.value)


def test_an_unreadable_snapshot_file_is_a_settings_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Is a directory"):
        snapshot.load(tmp_path)


@pytest.mark.parametrize(
    ("server", "version"),
    [("v1.36.3", (1, 36)), ("v1.36.3-gke.1234", (1, 36)), ("1.9", (1, 9)), ("v1.40+", (1, 40))],
)
def test_a_version_is_major_and_minor(server: str, version: Version) -> None:
    assert snapshot.version_of(server) == version


@pytest.mark.parametrize("server", ["", "latest", "v1", "1-36"])
def test_an_invalid_version_is_a_settings_error(server: str) -> None:
    with pytest.raises(SettingsError, match="version is not understood"):
        snapshot.version_of(server)


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ([(1, 36)], (1, 36)),
        ([(1, 35), (1, 37)], (1, 35)),
        ([(1, 9), (1, 10)], (1, 10)),
        ([(0, 99)], (0, 99)),
        ([(1, 37), (2, 0)], None),
        ([], None),
    ],
)
def test_the_nearest_earlier_snapshot_is_taken(known: list[Version], found: Version | None) -> None:
    assert snapshot.nearest((1, 36), known) == found


def test_a_missing_folder_of_snapshots_is_a_mistake_unless_one_is_recorded(tmp_path: Path) -> None:
    """Compared with nothing, every right is new, and the advice was to record them all."""
    named = str(tmp_path / "nope")
    with pytest.raises(OptionError, match="--snapshots: there is no folder"):
        snapshot.folder(named, record=False)
    assert snapshot.folder(named, record=True) == Path(named)


def test_only_files_of_versions_are_snapshots(tmp_path: Path) -> None:
    for name in ("1.36.yaml", "1.9.yaml", "README.md", "1.36.yaml.bak", "x1.2.yaml", "1.yaml"):
        (tmp_path / name).touch()
    assert snapshot.recorded(tmp_path) == {(1, 36), (1, 9)}
    assert snapshot.recorded(tmp_path / "none") == frozenset()


def shown(*present: Right, vetted: frozenset[Right] = VETTED.rights, **how: bool) -> str:
    role = ObservedRole("admin", "v1.36.3", frozenset(present), {present[0]: ("addon", "other")})
    out = Console(file=io.StringIO(), width=60, **how)  # type: ignore[arg-type]
    report.show(out, report.rows(vet_rights(role.rights, vetted), role))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_difference_is_printed_as_a_table() -> None:
    said = shown(
        Right("", "namespaces", "delete"),
        Right("example.com", "widgets", "list"),
        Right("example.com", "widgets", "create"),
        Right("", "pods", "get"),
        Right("", "pods", "list"),
    )
    lines = [line.split() for line in said.splitlines()]
    assert lines[0] == ["API", "GROUP", "RESOURCE", "VERBS", "FROM", "WHY"]
    assert lines[1][:6] == ["refused", "core", "namespaces", "delete", "addon,", "other"]
    assert lines[2] == ["new", "example.com", "widgets", "create,", "list"]
    assert lines[3:] == [
        ["lost", "core", "configmaps", "one", "get"],
        ["lost", "apps", "deployments/scale", "update"],
        ["lost", "(path)", "/metrics", "get"],
    ]


def test_output_to_a_pipe_is_neither_truncated_nor_coloured() -> None:
    name = "a" * 300
    said = shown(Right(name, name, "get"), force_terminal=False)
    assert f"{name}  {name}  get" in said
    assert "\x1b" not in said
    assert all(line == line.rstrip() for line in said.splitlines())


def test_output_to_a_terminal_is_coloured() -> None:
    assert "\x1b" in shown(Right("", "pods", "create"), force_terminal=True)


@pytest.mark.parametrize("terminal", [True, False])
def test_markup_and_control_characters_in_a_role_are_printed_escaped(terminal: bool) -> None:
    said = shown(
        Right("[bold]x[/bold]", f"{RED}red", "get\nlist"),
        vetted=frozenset(),
        force_terminal=terminal,
    )
    assert RED not in said
    assert "get\nlist" not in said
    flat = said.replace("\n", "").replace(" ", "")
    if not terminal:
        assert "[bold]x[/bold]" in flat
        assert r"'\x1b[31mred'" in flat


def test_json_output_contains_every_right_unchanged() -> None:
    present = frozenset({Right("", f"{RED}x", "get", "n"), Right("*", "*", "*")})
    role = ObservedRole("admin", "v1.36.3", present, {Right("*", "*", "*"): ("addon",)})
    answer = report.as_json(report.rows(vet_rights(present, frozenset()), role))
    told = json.loads(msgspec.json.encode(answer))
    why = "a wildcard gives what nobody has looked at yet"
    everything = {"group": "*", "resource": "*", "name": "", "verbs": ["*"]}
    other = {"group": "", "resource": f"{RED}x", "name": "n", "verbs": ["get"]}
    assert told == {
        "refused": [everything | {"from": ["addon"], "why": why}],
        "new": [other | {"from": [], "why": ""}],
        "lost": [],
        "vetted": [],
    }


def test_a_snapshot_can_be_applied_as_a_role() -> None:
    role = yaml.safe_load(snapshot.encode(VETTED))
    assert (role["apiVersion"], role["kind"]) == ("rbac.authorization.k8s.io/v1", "ClusterRole")


def test_an_empty_column_is_omitted() -> None:
    header = shown(Right("", "pods", "create"), vetted=frozenset()).splitlines()[0]
    assert header.split() == ["API", "GROUP", "RESOURCE", "VERBS", "FROM"]
