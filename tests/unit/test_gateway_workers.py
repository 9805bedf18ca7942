"""Several worker processes: when they are ready, when they are started again, what they measure."""

import asyncio
import os
import subprocess
import sys

import msgspec
import pytest
from lnamespace.errors import SettingsError
from lnamespace.gateway.supervisor import Worker, first_problem, restart_delay
from lnamespace.gateway.worker import Assignment
from lnamespace.gateway.worker_channel import WorkerChannel
from lnamespace.metrics.gateway import GatewayMetrics
from lnamespace.metrics.joined import join_metrics
from lnamespace.settings import Settings


@pytest.mark.parametrize(
    ("problems", "told"),
    [
        ({0: None, 1: None}, None),
        ({0: None, 1: "is starting"}, "worker 1: is starting"),
        ({0: "stopping", 1: "does not answer"}, "worker 0: stopping"),
    ],
)
def test_the_gateway_is_ready_when_every_worker_is_ready(
    problems: dict[int, str | None], told: str | None
) -> None:
    assert first_problem(problems) == told


@pytest.mark.parametrize(
    ("heard", "problem", "told"),
    [
        (None, None, "is starting"),
        (100.0, None, None),
        (95.0, None, None),
        (94.0, None, "does not answer"),
        (100.0, "stopping", "stopping"),
    ],
)
def test_a_worker_is_unready_with_a_problem_or_without_a_recent_report(
    heard: float | None, problem: str | None, told: str | None
) -> None:
    assert Worker(0, problem, heard).unready(100.0) == told


def test_the_restart_delay_of_a_failing_worker_doubles_up_to_a_limit() -> None:
    assert [restart_delay(failures) for failures in range(7)] == [1, 2, 4, 8, 16, 30, 30]


def test_the_number_of_workers_must_be_at_least_one() -> None:
    with pytest.raises(SettingsError, match="--gateway-workers must be at least 1"):
        Settings(gateway_workers=0)


def test_the_assignment_of_a_worker_carries_all_settings() -> None:
    told = Assignment(1, 7, Settings(gateway_workers=2, gateway_allow='{"csiDrivers": ["é"]}'))
    assert msgspec.json.decode(msgspec.json.encode(told), type=Assignment) == told


def metrics_of(requests: int) -> str:
    metrics = GatewayMetrics.new("tenancy.example.com")
    metrics.requests.labels("get", "200").inc(requests)
    metrics.seconds.labels("get").observe(0.002)
    return metrics.text().decode()


def test_joined_metrics_have_a_series_per_worker_and_each_family_once() -> None:
    lines = join_metrics({"0": metrics_of(3), "1": metrics_of(4)}).decode().splitlines()
    name = "lnamespace_gateway_requests_total"
    assert [line for line in lines if line.startswith(f"{name}{{")] == [
        f'{name}{{code="200",verb="get",worker="0"}} 3.0',
        f'{name}{{code="200",verb="get",worker="1"}} 4.0',
    ]
    assert lines.count(f"# TYPE {name} counter") == 1
    alone = {line for line in metrics_of(3).splitlines() if line.startswith("#")}
    assert {line for line in lines if line.startswith("#")} == alone
    buckets = [line for line in lines if "duration_seconds_bucket" in line]
    assert len(buckets) == 2 * sum("_bucket{" in line for line in metrics_of(3).splitlines())


def test_joined_metrics_of_no_workers_are_empty() -> None:
    assert join_metrics({}) == b""


async def test_a_late_reply_is_not_taken_for_the_reply_to_the_next_request() -> None:
    channel, theirs = await WorkerChannel.open()
    reader, writer = await asyncio.open_unix_connection(sock=theirs)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await channel.ask(b"first\n")
    second = asyncio.create_task(channel.ask(b"second\n"))
    assert await reader.readline() == b"first\n"
    assert await reader.readline() == b"second\n"
    writer.write(b'"one"\n"two"\n')
    assert await second == "two"
    third = asyncio.create_task(channel.ask(b"third\n"))
    await reader.readline()
    writer.close()
    with pytest.raises(ConnectionError):
        await third
    with pytest.raises(ConnectionError):
        await channel.ask(b"fourth\n")
    channel.close()


_WRITE = """
import sys
from lnamespace.runtime.lines import LineWriter
writer = LineWriter("-", print, lock=int(sys.argv[2]))
for _ in range(300):
    writer.put(sys.argv[1].encode() * 9000)
writer.close()
"""


def test_long_lines_of_several_processes_in_one_pipe_are_not_interleaved() -> None:
    """A pipe takes 4 KiB of each writer at a time."""
    lock = os.memfd_create("test")
    reading, writing = os.pipe()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITE, letter, str(lock)], stdout=writing, pass_fds=[lock]
        )
        for letter in "abc"
    ]
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = pipe.read().splitlines()
    assert [each.wait() for each in processes] == [0, 0, 0]
    os.close(lock)
    assert sorted(lines) == [letter * 9000 for letter in "abc" for _ in range(300)]
