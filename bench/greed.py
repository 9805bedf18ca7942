"""What a tenant does that does its worst, from a process of its own: see `bench.starvation`."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.queues import Queue
from pathlib import Path

from tests.e2e.support.api import NAMESPACES, Api, ns_path
from tests.e2e.support.floods import Connection, Target, raise_files

LISTERS, WATCHES, WRITERS = 250, 1000, 16
DEFINITIONS, ASKED_FOR = 100, 10_000
_AGAIN = 0.05
_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_READ = 1 << 20
_CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
"""Where version 1 and version 2 of cgroups are mounted."""


@dataclass(frozen=True)
class Greed:
    """The attacker, and the cluster that is attacked.

    Parameters
    ----------
    user
        Whom the attack acts as, with every right in the LCluster; directly at the API server, the
        account of the LCluster there.
    namespace
        The LCluster's namespace at the API server, which is attacked directly; empty: through the
        gateway.
    """

    kubeconfig: Path
    user: str
    namespace: str = ""

    @property
    def target(self) -> Target:
        """Return the port that the attack connects to, for reads."""
        api = Api(self.kubeconfig)
        return Target(api.acting(self.user) if self.namespace else api)

    @property
    def privileged(self) -> Target:
        """Return the port that the attack connects to, for writes."""
        if self.namespace:
            return self.target
        return Target(Api(self.kubeconfig).acting(self.user, "system:masters"))


def attack(greed: Greed, seconds: float, told: "Queue[dict[str, int]]") -> None:
    """Attack for so many seconds, at the lowest priority; report the number of each answer."""
    be_nice(19)
    _be_idle()
    raise_files()
    answers: Counter[str] = Counter()
    asyncio.run(_do_the_worst(greed, seconds, answers))
    told.put(dict(answers))


def be_nice(niceness: int) -> None:
    """Run after others, or before them where that is allowed.

    If Linux groups by sessions, it divides the processors among them first, and by niceness only
    within each. In the session of the bench, the attacker got as much as the API server.
    """
    os.setsid()
    os.nice(niceness)
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text(str(niceness))


def _be_idle() -> None:
    """Run only when nothing else wants to, where that is allowed.

    Else a process of niceness 19 still has milliseconds before another one that wakes up: at each
    step of a request. Attackers are on other machines.
    """
    for root in _CGROUPS:
        group = root / "lnamespace-bench-idle"
        with suppress(OSError):
            group.mkdir(exist_ok=True)
            (group / "cpu.idle").write_text("1")
            (group / "cgroup.procs").write_text(str(os.getpid()))
            return


async def _do_the_worst(greed: Greed, seconds: float, answers: Counter[str]) -> None:
    target, sudo = greed.target, greed.privileged
    space = ns_path(greed.namespace or "default", "configmaps")
    everything = space if greed.namespace else "/api/v1/configmaps"
    watch = f"{everything}?watch=true&timeoutSeconds=30"
    work: list[Awaitable[None]] = [
        *(_again(target, "list", space, answers) for _ in range(LISTERS // 2)),
        *(_again(target, "list all", everything, answers) for _ in range(LISTERS // 2)),
        *(_watch(target, watch, answers) for _ in range(WATCHES // 4)),
        *(_write(sudo, "large", space, answers) for _ in range(WRITERS)),
        *(_write(sudo, "definition", _CRD, answers) for _ in range(WRITERS)),
        *(_write(sudo, "namespace", NAMESPACES, answers) for _ in range(WRITERS)),
    ]
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*work)
    except TimeoutError:
        return


@asynccontextmanager
async def _connection(target: Target) -> AsyncIterator[Connection]:
    reader, writer = await target.connect()
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _ever(what: str, answers: Counter[str], turn: Callable[[], Awaitable[None]]) -> None:
    """Connect again and again."""
    while True:
        try:
            await turn()
        except (OSError, ValueError, IndexError, asyncio.IncompleteReadError):
            answers[f"{what} cut"] += 1
            await asyncio.sleep(_AGAIN)


async def _again(target: Target, what: str, path: str, answers: Counter[str]) -> None:
    """List in a loop, whatever is answered."""

    async def turn() -> None:
        async with _connection(target) as (reader, writer):
            while True:
                writer.write(target.head("GET", path))
                answers[f"{what} {await _answer(reader)}"] += 1

    await _ever(what, answers, turn)


async def _watch(target: Target, path: str, answers: Counter[str]) -> None:
    """Watch all namespaces, four at first, from what is there."""

    async def turn() -> None:
        async with _connection(target) as (reader, writer):
            writer.write(target.head("GET", path))
            answers[f"watch {(await reader.readline()).split()[1].decode()}"] += 1
            while await reader.read(_READ):
                pass
        await asyncio.sleep(_AGAIN)

    await _ever("watch", answers, turn)


_numbers = count()


async def _write(target: Target, what: str, path: str, answers: Counter[str]) -> None:
    async def turn() -> None:
        async with _connection(target) as (reader, writer):
            while True:
                number = next(_numbers)
                body = json.dumps(_body(what, number)).encode()
                said = ("Content-Type: application/json", f"Content-Length: {len(body)}")
                writer.write(target.head("POST", path, *said) + body)
                answers[f"{what} {await _answer(reader)}"] += 1

    await _ever(what, answers, turn)


def _body(what: str, number: int) -> dict[str, object]:
    """Return the body of a creation; of large objects and definitions, one of a few in turns."""
    if what == "namespace":
        return {"metadata": {"name": f"n{number % ASKED_FOR}"}}
    if what == "large":
        return {"metadata": {"name": f"l{number % 50}"}, "data": {"a": "x" * 3_000_000}}
    group, plural = "example.com", f"things{number % DEFINITIONS}"
    names = {"plural": plural, "kind": plural.capitalize()}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": spec,
    }


async def _answer(reader: asyncio.StreamReader) -> int:
    """Read an answer, and return its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    lengths = [each for each in lines if each.lower().startswith(b"content-length:")]
    if lengths:
        await _skip(reader, int(lengths[0].split(b":")[1]))
    else:
        while size := int(await reader.readline(), 16):
            await _skip(reader, size + 2)
        await _skip(reader, 2)
    return int(lines[0].split()[1])


async def _skip(reader: asyncio.StreamReader, size: int) -> None:
    while size:
        part = await reader.read(min(size, _READ))
        if not part:
            raise ConnectionResetError
        size -= len(part)
