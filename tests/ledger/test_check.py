"""`hack/bigquery-check` itself, against the protocol: it finds what is right, and what is not."""

import os
import subprocess
from pathlib import Path

from google.cloud import bigquery
from lnamespace.ledger.database.bigquery import EMULATOR

from tests.bigquery import Fault, Kind, StandIn

COMMAND = Path(__file__).resolve().parents[2] / "hack/bigquery-check"


def check(service: StandIn, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments],
        env={**os.environ, EMULATOR: service.endpoint},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_all_steps_pass_and_no_table_is_left(service: StandIn, client: bigquery.Client) -> None:
    done = check(service, "fin-ops", "billing")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("✔") == 8
    assert list(client.list_tables("fin-ops.billing")) == []


def test_a_missing_dataset_is_reported_with_the_command_that_creates_it(service: StandIn) -> None:
    done = check(service, "fin-ops", "nothing")
    assert done.returncode == 1
    assert "bq mk --dataset" in done.stdout


def test_a_failed_step_is_reported_and_cleaned_up(
    service: StandIn, client: bigquery.Client
) -> None:
    service.faults.add(
        Fault(Kind.ERROR, where="queries", containing="INSERT", status=403, reason="accessDenied")
    )
    done = check(service, "fin-ops", "billing")
    assert done.returncode == 1
    assert "✘ a batch is added once" in done.stdout
    assert list(client.list_tables("fin-ops.billing")) == []
