"""Who did what under sudo: the API server's audit log tells, with the policy of the documents."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.support.api import GROUP
from tests.e2e.support.cluster import Cluster, running
from tests.e2e.support.commands import REPOSITORY, run
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

POLICY = REPOSITORY / "docs" / "audit-policy.yaml"


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose API server keeps an audit log."""
    with running(tmp_path_factory.mktemp("audited")) as cluster:
        shutil.copy(POLICY, cluster.folder / "audit-policy.yaml")
        cluster.kill("kube-apiserver")
        cluster.up()
        yield cluster


def events(cluster: Cluster, **wanted: str) -> list[dict[str, Any]]:
    """What the log has, by parts of the object that it is about; no line that is being written."""
    log = (cluster.folder / "logs" / "audit.log").read_text()
    read = map(json.loads, log.rpartition("\n")[0].splitlines())
    return [event for event in read if wanted.items() <= event.get("objectRef", {}).items()]


def created(cluster: Cluster, **wanted: str) -> list[dict[str, Any]]:
    """The two creations in the log; Kubernetes' quota controller writes the status beside them."""
    found = [each for each in events(cluster, **wanted) if each["verb"] == "create"]
    return found if len(found) == 2 else []


def test_the_log_has_both_the_person_and_the_group(audited: Cluster) -> None:
    alice = People(audited).person("alice")
    alice.kubectl("create", "lns", "team-a").ok()
    eventually(lambda: events(audited, resource="lnamespaces", apiGroup=GROUP))
    made = events(audited, resource="lnamespaces", apiGroup=GROUP)[0]
    assert made["user"]["username"] == "alice"
    assert made["responseObject"]["spec"]["requester"] == "alice"

    quota = ("create", "quota", "limits", "--hard=pods=10")
    alice.kubectl("-n", "team-a", *quota).refused()
    alice.kubectl("sudo", "-n", "team-a", *quota).ok()
    refused, done = eventually(lambda: created(audited, resource="resourcequotas"))
    assert refused["responseStatus"]["code"] == 403
    assert "impersonatedUser" not in refused
    assert done["user"]["username"] == "alice"
    assert done["impersonatedUser"]["username"] == "alice"
    assert "team-a-sudoers" in done["impersonatedUser"]["groups"]
    assert done["responseStatus"]["code"] == 201

    # What `describe` says is how to read it, and finds the one request that was by sudo.
    described = alice.kubectl("lns", "describe", "team-a").ok()
    asks = next(line.strip() for line in described.splitlines() if "jq -r " in line)
    assert 'index("team-a-sudoers")' in asks
    if shutil.which("jq"):
        log = str(audited.folder / "logs" / "audit.log")
        told = run("/bin/sh", "-c", asks.replace("audit.log", log)).ok().splitlines()
        rows = [row.split("\t")[1:] for row in told]
        posted = "/api/v1/namespaces/team-a/resourcequotas"
        assert [(who, verb) for who, verb, uri in rows if uri.startswith(posted)] == [
            ("alice", "create")
        ]
