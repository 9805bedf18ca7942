"""The ledger as people meet it: a database, its publisher, and the commands that read it."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.bigquery import Fault
from tests.e2e.support.api import GROUP, Api, Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.commands import REPOSITORY, Result, environment, run
from tests.e2e.support.processes import Publisher
from tests.e2e.support.programs import PROGRAM, output
from tests.e2e.support.waiting import eventually

BILLINGRECORDS = f"/apis/{GROUP}/v1beta1/billingrecords"

_PROJECT = "fin-ops"


@dataclass(frozen=True)
class Ledger:
    """A ledger's database; ``variables`` are what a process needs besides the URL."""

    cluster: Cluster
    url: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def publisher(self, **more: str) -> Publisher:
        """Return the publisher; it is not started."""
        return self.cluster.publisher(self.url, **{**self._place, **self.variables, **more})

    @contextmanager
    def published(self, **more: str) -> Iterator[Publisher]:
        """Run the publisher while the block runs."""
        process = self.publisher(**more)
        since = process.position
        process.start()
        try:
            yield process
        finally:
            process.stop()
        assert process.defect not in process.log(since)

    def publish(self) -> None:
        """Write all records that wait, and release the database afterwards."""
        before = self.publisher().position
        with self.published() as publisher:
            compared(publisher, before)
            drained(self.cluster.admin)

    def command(self, *words: str) -> Result:
        """Run `lnamespace ledger`."""
        variables = {"LNAMESPACE_LEDGER_URL": self.url, **self._place, **self.variables}
        return run(PROGRAM, "ledger", *words, env={**self.cluster.environment, **variables})

    def raw(self, *words: str) -> str:
        """Return the output of `lnamespace ledger`, line ends as they are."""
        variables = {"LNAMESPACE_LEDGER_URL": self.url, **self._place, **self.variables}
        env = environment({**self.cluster.environment, **variables})
        code, out, err = output([str(PROGRAM), "ledger", *words], env)
        assert code == 0, err
        return out.decode()

    def show(self, *words: str) -> list[Object]:
        """Return the events that the command prints."""
        found: list[Object] = json.loads(self.command("show", "-o", "json", *words).ok())
        return found

    def intervals(self, *words: str) -> list[Object]:
        """Return the intervals of payers that the command prints."""
        found: list[Object] = json.loads(self.command("intervals", "-o", "json", *words).ok())
        return found

    @property
    def _place(self) -> dict[str, str]:
        return {"LNAMESPACE_CLUSTER_NAME": "main", "LNAMESPACE_PROJECT_ID": _PROJECT}


def outbox(admin: Api) -> list[str]:
    """Return the records that wait."""
    return [item["metadata"]["name"] for item in admin.items(BILLINGRECORDS)]


def drained(admin: Api, deadline: float = 180.0) -> None:
    """Wait until no record waits; what was announced and refused is withdrawn after 90 s."""
    eventually(lambda: not outbox(admin), deadline, "records still wait", tick=0.1)


def compared(publisher: Publisher, since: int) -> None:
    """Wait until it has compared the ledger with the cluster, as it does after its start."""
    words = "ledger and cluster compared"
    eventually(lambda: words in publisher.log(since), 240, "not compared", tick=0.1)


class StandIn:
    """The stand-in for BigQuery, as a process that can be told to fail."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def ledger(self, cluster: Cluster) -> Ledger:
        """Return the ledger in the stand-in."""
        variables = {"BIGQUERY_EMULATOR_HOST": self._endpoint}
        return Ledger(cluster, f"bigquery://{_PROJECT}/billing", variables)

    def plan(self, *faults: Fault) -> None:
        """Make requests fail from now on."""
        self._control("POST", "faults", faults)

    def planned(self) -> list[Fault]:
        """Return the faults that are yet to come."""
        return msgspec.convert(self._control("GET", "faults"), list[Fault])

    def clear(self) -> None:
        """Make no more requests fail."""
        self._control("DELETE", "faults")

    def suffered(self) -> set[str]:
        """Return the kinds of faults that requests have had."""
        return {request["fault"] for request in self._control("GET", "requests")} - {None}

    def _control(self, method: str, what: str, body: Sequence[Fault] | None = None) -> Any:
        data = None if body is None else msgspec.json.encode(body)
        url = f"{self._endpoint}/standin/{what}"
        request = urllib.request.Request(url, data, method=method)  # noqa: S310 - ours, on loopback
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
            return json.load(answer)


@contextmanager
def standin() -> Iterator[StandIn]:
    """Yield a stand-in with an empty dataset."""
    command = [sys.executable, "-m", "tests.bigquery", "--dataset", f"{_PROJECT}.billing"]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout
        try:
            yield StandIn(process.stdout.readline().strip())
        finally:
            process.terminate()
