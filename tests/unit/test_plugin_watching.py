"""`kubectl lns list -w` and waiting, against an executable that answers as kubectl does."""

from __future__ import annotations

import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from lnamespace.plugins.cluster import watching
from lnamespace.plugins.cluster.kubectl import Kubectl
from lnamespace.plugins.cluster.waiting import wait_ready
from lnamespace.plugins.cluster.watching import FAILURES_MAX, changes, observe
from lnamespace.plugins.commands.lns import FLAGS
from lnamespace.plugins.runtime.errors import PluginError
from lnamespace.plugins.runtime.flags import parse
from lnamespace.plugins.views.listing import list_lnamespaces

# Its answers, one after the other; what it was asked is noted. The last answer is given for ever.
KUBECTL = """\
#!/bin/sh
case "$1" in auth) exec cat "{folder}/whoami";; esac
echo "$3" >> "{folder}/asked"
case "$3" in *watch=true*) kind=watch;; *) kind=get;; esac
number=$(cat "{folder}/$kind.number" 2>/dev/null || echo 0)
echo $((number + 1)) > "{folder}/$kind.number"
while [ ! -f "{folder}/$kind.$number" ] && [ $number -gt 0 ]; do number=$((number - 1)); done
[ -f "{folder}/$kind.$number" ] || exit 0
. "{folder}/$kind.$number"
"""
UNANSWERED = "Unable to connect to the server"
GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}


def lns(name: str, version: int = 1) -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": str(version), "generation": 1}
    return {"metadata": metadata, "spec": {"users": [{"kind": "User", "name": "alice"}]}}


def listed(*items: dict[str, Any], version: int) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


def event(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": item}


class Cluster:
    """What kubectl answers, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubectl = folder / "kubectl"
        self.kubectl.write_text(KUBECTL.format(folder=folder))
        self.kubectl.chmod(0o755)
        user = {"status": {"userInfo": {"username": "alice"}}}
        (folder / "whoami").write_text(json.dumps(user))
        (folder / "asked").touch()
        self._number = {"watch": 0, "get": 0}

    def answer(self, kind: str, *documents: object, then: str = "exit 0") -> None:
        """Answer a `get` or a `watch` with documents."""
        number = self._number[kind]
        self._number[kind] += 1
        body = self.folder / f"{kind}.{number}.json"
        body.write_text("\n".join(json.dumps(document) for document in documents))
        (self.folder / f"{kind}.{number}").write_text(f"cat '{body}'\n{then}\n")

    @property
    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster(tmp_path)
    monkeypatch.setenv("KUBECTL", str(found.kubectl))
    return found


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return how long was waited, without waiting."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    return pauses


def test_a_watch_that_ends_immediately_is_retried_with_backoff_and_given_up(
    cluster: Cluster, slept: list[float]
) -> None:
    """250 kubectl a second were once started against a server whose watches ended at once."""
    with pytest.raises(PluginError, match="ends again and again"):
        list(changes(Kubectl(), listed(version=7), ""))
    assert slept == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert len(cluster.asked) == FAILURES_MAX


def test_a_failing_watch_is_given_up_with_the_error_of_kubectl(
    cluster: Cluster, slept: list[float]
) -> None:
    cluster.answer("watch", then="echo 'Unable to connect to the server' >&2; exit 1")
    cluster.answer("get", listed(version=8))
    with pytest.raises(PluginError, match="again: Unable to connect to the server"):
        list(changes(Kubectl(), listed(version=7), ""))
    assert len(slept) == FAILURES_MAX


def test_a_forbidden_watch_is_not_retried(cluster: Cluster, slept: list[float]) -> None:
    cluster.answer("watch", then="echo 'Error from server (Forbidden): no' >&2; exit 1")
    with pytest.raises(PluginError, match="Forbidden"):
        list(changes(Kubectl(), listed(version=7), ""))
    assert len(slept) == 1


def test_a_watch_resumes_from_the_resource_version_of_the_list(
    cluster: Cluster, slept: list[float]
) -> None:
    """What was deleted between the list and the watch was once shown for ever."""
    cluster.answer("watch", event("DELETED", lns("a", 8)))
    cluster.answer("watch", event("BOOKMARK", lns("", 20)))
    cluster.answer("watch", event("ADDED", lns("b", 21)))
    found = list(islice(changes(Kubectl(), listed(lns("a"), version=7), "?labelSelector=x"), 2))
    assert [item["metadata"]["name"] for item in found] == ["a", "b"]
    assert found[0]["status"] == watching.DELETED
    assert [url.rpartition("resourceVersion=")[2] for url in cluster.asked] == ["7", "8", "20"]
    assert all("?labelSelector=x&" in url for url in cluster.asked)
    assert slept


def test_a_deletion_during_an_expired_watch_is_found_by_a_new_list(
    cluster: Cluster, slept: list[float]
) -> None:
    cluster.answer("watch", GONE)
    cluster.answer("get", listed(lns("b"), lns("c", 30), version=40))
    cluster.answer("watch", event("MODIFIED", lns("c", 41)))
    first = listed(lns("a"), lns("b"), lns("c"), version=7)
    found = list(islice(changes(Kubectl(), first, ""), 3))
    assert [(item["metadata"]["name"], "status" in item) for item in found] == [
        ("a", True),
        ("c", False),
        ("c", False),
    ]
    assert cluster.asked[-1].endswith("resourceVersion=40")
    assert slept == [0.5]


def test_the_command_shows_a_deletion_between_its_list_and_its_watch(
    cluster: Cluster, slept: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.answer("get", listed(lns("a", 5), version=7))
    cluster.answer("watch", event("DELETED", lns("a", 8)))
    cluster.answer("watch", then="echo 'Error from server (Forbidden): no' >&2; exit 1")
    with pytest.raises(PluginError):
        list_lnamespaces(parse(["list", "--watch"], FLAGS))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["a", "<unknown>"], ["a", "False"]]
    assert "Deleted" in lines[-1]
    assert slept


def test_the_list_says_that_a_namespace_selects_nothing(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.answer("get", listed(lns("a"), version=1))
    assert list_lnamespaces(parse(["list", "--all", "-n", "x"], FLAGS)) == 0
    told = capsys.readouterr()
    assert told.err.startswith("note: LNamespaces are in no namespace, so -n x selects nothing")
    assert "\na " in told.out
    # `kubectl sudo -n x lns list` hands both on.
    assert list_lnamespaces(parse(["list", "-n", "x", "--as=bob"], FLAGS)) == 0
    assert capsys.readouterr().err == ""


def test_waiting_pauses_between_watches_that_end_immediately(
    cluster: Cluster, slept: list[float]
) -> None:
    cluster.answer("get", then="echo 'Unable to connect to the server' >&2; exit 1")
    states = list(islice(observe(Kubectl(), "a", time.monotonic() + 3600), 15))
    assert states[::2] == [None] * 8
    assert [str(state) for state in states[1::2]] == [UNANSWERED] * 7
    assert slept == [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "somebody waits, so not for long"


def test_waiting_in_vain_ends_with_what_kubectl_said(cluster: Cluster) -> None:
    """It said `the operator has not looked at it yet`, which nobody had asked."""
    cluster.answer("watch", then="echo 'error: something else' >&2; exit 1")
    cluster.answer("get", then="echo 'Unable to connect to the server' >&2; exit 1")
    with pytest.raises(PluginError) as told:
        wait_ready(Kubectl(), "a", 1)
    assert str(told.value).startswith(
        f'LNamespace "a" is not ready after 1s: its status cannot be read: {UNANSWERED}\n'
    )


def test_waiting_ends_if_the_lnamespace_was_deleted_between_two_watches(
    cluster: Cluster, slept: list[float]
) -> None:
    cluster.answer("watch", event("ADDED", lns("a", 8)))
    cluster.answer("watch")
    cluster.answer("get", lns("a", 8))
    cluster.answer("get", then="echo 'Error from server (NotFound): x' >&2; exit 1")
    with pytest.raises(PluginError, match='"a" was deleted while waiting'):
        list(observe(Kubectl(), "a", time.monotonic() + 3600))
    assert "resourceVersion=8" in cluster.asked[2]
    assert len(slept) == 2


def test_waiting_sends_no_request_after_its_deadline(cluster: Cluster) -> None:
    assert set(observe(Kubectl(), "a", time.monotonic() + 0.01)) == {None}
    assert [url for url in cluster.asked if "watch=true" not in url] == []
