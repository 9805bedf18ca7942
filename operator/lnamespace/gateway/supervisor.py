"""The supervisor of several worker processes of the gateway, which listen at the same ports.

It serves no tenants. It starts workers, starts again those that end or hang, ends them all, and
answers probes and Prometheus for them. Each worker is a whole gateway with watches and caches of
its own, as a replica is (docs/decisions/0059-worker-processes.md).
"""

import asyncio
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from lnamespace.errors import SettingsError
from lnamespace.gateway.worker import METRICS, READINESS, VARIABLE, Assignment
from lnamespace.gateway.worker_channel import WorkerChannel
from lnamespace.http.probes import Probes, serve_probes
from lnamespace.metrics.joined import join_metrics
from lnamespace.runtime.lifecycle import exit_at_next_signal, stop_event, wait_at_most
from lnamespace.settings import Settings

_ASK_SECONDS = 1.0
_SILENT_SECONDS = 5.0
"""Seconds without an answer after which a worker counts as not ready."""
_HUNG_SECONDS = 30.0
"""Seconds without an answer after which it is killed: as the kubelet waits for a gateway."""
_START_SECONDS = 60.0
"""Seconds that a restarted worker may take to answer, as by a startup probe."""
_METRICS_SECONDS = 5.0
_LONGEST_DELAY = 30.0
_END_SECONDS = 15.0
"""Seconds that workers may take to end after the drain time."""

log = logging.getLogger(__name__)


def run(settings: Settings) -> None:
    """Keep worker processes running until a signal asks to end.

    Raises
    ------
    SettingsError
        The workers cannot run; the log has their messages.
    """
    if not sys.platform.startswith("linux"):
        raise SettingsError("--gateway-workers: several need Linux, which spreads connections")
    asyncio.run(_supervise(settings))


def restart_delay(failures: int) -> float:
    """Return the seconds to wait before a restart, after so many failures since it was ready."""
    return min(2.0**failures, _LONGEST_DELAY)


@dataclass
class Worker:
    """A worker process, and its restarts.

    Parameters
    ----------
    problem
        Why it was not ready when it last answered.
    answered_at
        The time of its last answer, in seconds of the event loop; None before the first.
    failures
        The number of times that it ended since it was last ready.
    was_ready
        Whether it has been ready at all.
    ending
        Whether it is to end.
    """

    number: int
    problem: str | None = None
    answered_at: float | None = None
    was_ready: bool = False
    ending: bool = False
    failures: int = 0
    child: asyncio.subprocess.Process | None = None
    channel: WorkerChannel | None = None

    async def run(self, settings: Settings, lock: int) -> int:
        """Start the process and follow it to its end; return its exit code."""
        self.answered_at = None
        assignment = msgspec.json.encode(Assignment(self.number, lock, settings)).decode()
        self.channel, theirs = await WorkerChannel.open()
        with theirs:
            self.child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "lnamespace.gateway.worker"),
                env={**os.environ, VARIABLE: assignment},
                stdin=theirs.fileno(),
                pass_fds=[lock],
                start_new_session=True,  # Ctrl-C is for the supervisor, which ends them.
            )
        if self.ending:  # `terminate` was called while the process was being started.
            self.terminate()
        follow = asyncio.create_task(self._follow(self.channel, self.child))
        try:
            return await self.child.wait()
        finally:
            follow.cancel()
            await asyncio.gather(follow, return_exceptions=True)
            self.channel.close()
            self.answered_at = self.child = self.channel = None

    async def _follow(self, channel: WorkerChannel, child: asyncio.subprocess.Process) -> None:
        # The first answer comes when everything has been listed. The first time of all the startup
        # probe waits for that.
        timeout = _START_SECONDS if self.was_ready else None
        while True:
            try:
                async with asyncio.timeout(timeout):
                    answer = await channel.ask(READINESS)
            except TimeoutError:
                log.error("a worker hangs", extra={"worker": self.number, "pid": child.pid})  # noqa: TRY400
                child.kill()
                return
            except ConnectionError:
                return  # It has ended.
            if self.answered_at is None:
                log.info("a worker answers", extra={"worker": self.number, "pid": child.pid})
            self.problem, self.answered_at = answer, asyncio.get_running_loop().time()
            if answer is None:
                self.failures, self.was_ready = 0, True
            timeout = _HUNG_SECONDS
            await asyncio.sleep(_ASK_SECONDS)

    def unready(self, now: float) -> str | None:
        """Return why this worker is not ready, or None."""
        if self.answered_at is None:
            return "is starting"
        return "does not answer" if now - self.answered_at > _SILENT_SECONDS else self.problem

    async def metrics(self) -> str | None:
        """Return its metrics; None where it does not answer now."""
        if self.answered_at is None or self.channel is None:
            return None
        try:
            async with asyncio.timeout(_METRICS_SECONDS):
                return await self.channel.ask(METRICS)
        except (TimeoutError, ConnectionError):
            return None

    def terminate(self) -> None:
        """Ask the process to end, as soon as there is one."""
        self.ending = True
        if self.child and self.child.returncode is None:
            self.child.terminate()


@dataclass
class Supervisor:
    """All workers."""

    settings: Settings
    lock: int
    workers: Sequence[Worker]
    stop: asyncio.Event
    texts: Mapping[str, str] = field(default_factory=dict)

    def problem(self) -> str | None:
        """Return why the gateway is not ready, or None."""
        if self.stop.is_set():
            return "stopping"
        now = asyncio.get_running_loop().time()
        return first_problem({each.number: each.unready(now) for each in self.workers})

    async def gather_metrics(self) -> None:
        """Ask all workers for their metrics."""
        texts = await asyncio.gather(*(each.metrics() for each in self.workers))
        pairs = zip(self.workers, texts, strict=True)
        self.texts = {str(each.number): text for each, text in pairs if text}

    def joined_metrics(self) -> bytes:
        """Return the metrics of all workers, as they were last gathered."""
        return join_metrics(self.texts)

    async def restart_forever(self, worker: Worker) -> None:
        """Start a worker again whenever it ends, until all are to stop.

        Raises
        ------
        SettingsError
            The worker ended before all workers were ready for the first time.
        """
        while not self.stop.is_set():
            code = await worker.run(self.settings, self.lock)
            if self.stop.is_set():
                return
            if not all(each.was_ready for each in self.workers):
                raise SettingsError(f"worker {worker.number} ended with {code} before it was ready")
            delay = restart_delay(worker.failures)
            worker.failures += 1
            about = {"worker": worker.number, "code": code, "again_in_seconds": delay}
            log.error("a worker ended", extra=about)
            await wait_at_most(self.stop, delay)

    async def end(self, keeping: Iterable["asyncio.Task[None]"]) -> None:
        """Terminate all workers; kill those that take too long to drain."""
        for each in self.workers:
            each.terminate()
        _, late = await asyncio.wait(keeping, timeout=self.settings.drain_seconds + _END_SECONDS)
        for each in self.workers if late else ():
            if each.child:
                each.child.kill()
        await asyncio.gather(*keeping, return_exceptions=True)


def first_problem(problems: Mapping[int, str | None]) -> str | None:
    """Return the problem of the first worker that has one, with its number; None: all are ready."""
    found = (f"worker {number}: {each}" for number, each in problems.items() if each)
    return next(found, None)


async def _supervise(settings: Settings) -> None:
    # A file in memory, because the file system may be read-only.
    lock = os.memfd_create("lnamespace-gateway")
    stop = stop_event()
    workers = [Worker(number) for number in range(settings.gateway_workers)]
    supervisor = Supervisor(settings, lock, workers, stop)
    probes = Probes(supervisor.problem, supervisor.joined_metrics, gather=supervisor.gather_metrics)
    async with serve_probes(settings.health_listen, probes):
        stopping = asyncio.create_task(stop.wait())
        keeping = [asyncio.create_task(supervisor.restart_forever(each)) for each in workers]
        await asyncio.wait((stopping, *keeping), return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        exit_at_next_signal()
        await supervisor.end(keeping)
        for each in keeping:
            each.result()
    log.info("all workers have ended")
