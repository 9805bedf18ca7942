"""The stand-in as a process, as end-to-end tests and people use it."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import Forbidden
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery


@pytest.fixture
def endpoint() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bigquery", "--dataset", "fin-ops.billing"],
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def control(endpoint: str, method: str, what: str, body: object = None) -> Any:
    request = urllib.request.Request(  # noqa: S310 - our own on loopback
        f"{endpoint}/standin/{what}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
        return json.load(answer)


def test_the_process_serves_requests_and_injects_the_requested_faults(endpoint: str) -> None:
    client = bigquery.Client(
        project="fin-ops",
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options=ClientOptions(api_endpoint=endpoint),
    )
    assert [dataset.dataset_id for dataset in client.list_datasets()] == ["billing"]
    fault = {"kind": "error", "where": "queries", "status": 403, "reason": "accessDenied"}
    assert len(control(endpoint, "POST", "faults", [fault])) == 1
    with pytest.raises(Forbidden):
        client.query_and_wait("SELECT 1")
    assert next(iter(client.query_and_wait("SELECT 1")))[0] == 1
    seen = [
        (request["method"], request["fault"]) for request in control(endpoint, "GET", "requests")
    ]
    assert seen == [("GET", None), ("POST", "error"), ("POST", None)]
    client.close()  # type: ignore[no-untyped-call]


def test_planned_faults_can_be_removed(endpoint: str) -> None:
    control(endpoint, "POST", "faults", [{"kind": "hang", "times": 0}])
    assert control(endpoint, "DELETE", "faults") == []
