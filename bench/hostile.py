"""What hostile people can do to others on a default install: ``python -m bench.hostile``.

For so many minutes people who may do what everybody may log in for do their worst: as many and as
large LNamespaces as they are let, floods of creations, edits and deletions, hundreds of groups; and
somebody who reaches the webhook's port sends forged, very large and endless reviews. Meanwhile one
honest LNamespace is edited. Told is how long a revocation takes for honest people, how long the
webhook takes for an honest review, and how much memory the processes come to.
"""

import argparse
import asyncio
import json
import ssl
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles

import aiohttp
from lnamespace.kube.resources import ROLE_BINDING
from lnamespace.model.names import USERS_BINDING

from bench.client import Bare, Manifest, connect
from bench.latency import seconds_until
from bench.plane import Plane, Process, plane
from bench.report import Row, machine, table, write
from bench.tenants import COLLECTION
from bench.webhook import review

AT_ONCE = 10
"""The requests that hostile people have under way, all of them together."""

MANY_GROUPS = 400
_JSON = {"Content-Type": "application/json"}


@dataclass
class Seen:
    """The measurements: seconds, MiB, and the answers to the hostile requests."""

    revoked: list[float] = field(default_factory=list)
    reviewed: list[float] = field(default_factory=list)
    controller: float = 0.0
    webhook: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Crowd:
    """The attackers: so many people, and strangers who send these reviews to the port."""

    people: int
    forgeries: list[tuple[str, bytes]]


def main() -> int:
    """Run the attack and print the table; return 1 if a goal was missed."""
    chosen = _arguments()
    with plane(limit="") as made, made.controller() as controller:
        forgeries = [] if chosen.people_only else _forgeries()
        crowd = Crowd(chosen.people, forgeries)
        seen = asyncio.run(_measure(made, controller, chosen.minutes * 60, crowd))
    rows = [
        Row("revocations of honest people", "", len(seen.revoked)),
        Row("edit to revoked, p50", "ms", _percentile(seen.revoked, 50)),
        Row("edit to revoked, p99", "ms", _percentile(seen.revoked, 99), None, "< 1 s"),
        Row("honest reviews", "", len(seen.reviewed)),
        Row("honest review, p50", "ms", _percentile(seen.reviewed, 50)),
        Row("honest review, p99", "ms", _percentile(seen.reviewed, 99), None, "< 50 ms"),
        Row("controller, most memory", "MiB", seen.controller, None, "< 200"),
        Row("webhook, most memory", "MiB", seen.webhook),
        Row("hostile requests", "", sum(seen.answers.values())),
    ]
    print(machine(), file=sys.stderr)
    print(table(rows))
    print(f"hostile requests by answer: {dict(seen.answers.most_common(12))}")
    write(chosen.json, rows, {"answers": dict(seen.answers)})
    return 0 if _good(seen) else 1


def _good(seen: Seen) -> bool:
    return (
        _percentile(seen.revoked, 99) < 1000
        and _percentile(seen.reviewed, 99) < 50
        and seen.controller < 200
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long [10]")
    people = "how many hostile people there are [1]"
    parser.add_argument("--people", type=int, default=1, metavar="N", help=people)
    alone = "nobody reaches the webhook's port, as with webhook.networkPolicy"
    parser.add_argument("--people-only", action="store_true", help=alone)
    default = Path("build/bench-hostile.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


async def _measure(made: Plane, controller: Process, seconds: float, crowd: Crowd) -> Seen:
    seen = Seen()
    # Strangers have a process of their own: what they send must not hold up the clock.
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    async with connect(made.admin_kubeconfig) as admin, _port(made.webhook_url) as port:
        await _honest(admin)
        honest = [
            _revocations(admin, seen),
            _reviews(port, seen),
            _memory(made, controller, seen),
        ]
        hostile = [
            _mallory(admin.acting(f"mallory-{n % crowd.people}", _groups(n)), n, seen)
            for n in range(AT_ONCE)
        ]
        strangers = pool.submit(_forge, made.webhook_url, crowd.forgeries, seconds)
        tasks = [asyncio.ensure_future(work) for work in (*honest, *hostile)]
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()  # None of them ends by itself.
        seen.answers += strangers.result()
    return seen


# Honest people


def _manifest(name: str, users: list[str]) -> Manifest:
    return {
        "apiVersion": "tenancy.loblaw.digital/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": name},
        "spec": {"managers": [{"name": "honest"}], "users": [{"name": user} for user in users]},
    }


async def _honest(admin: Bare) -> None:
    await admin.post(COLLECTION, _manifest("honest", ["honest"]))


async def _revocations(admin: Bare, seen: Seen) -> None:
    """Give a user access and take it away again, and measure how long each takes."""
    for turn in count():
        user = f"guest-{turn}"
        for users in (["honest", user], ["honest"]):
            there = len(users) > 1
            taken = await _edited(admin, users, partial(_shows, user, there))
            if not there:
                seen.revoked.append(taken)
        await asyncio.sleep(0.1)


async def _edited(admin: Bare, users: list[str], shown: Callable[[Manifest], bool]) -> float:
    change = {"spec": {"users": [{"name": user} for user in users]}}
    return await seconds_until(
        admin,
        ROLE_BINDING.path(namespace="honest"),
        lambda: admin.patch(f"{COLLECTION}/honest", change),
        lambda event: event["object"]["metadata"]["name"] == USERS_BINDING and shown(event),
    )


def _shows(user: str, there: bool, event: Manifest) -> bool:
    subjects = event["object"].get("subjects") or ()
    return any(subject["name"] == user for subject in subjects) == there


async def _reviews(port: "Port", seen: Seen) -> None:
    body = review("CREATE")
    while True:
        begun = time.perf_counter()
        if await port.ask("/mutate", body) == 200:
            seen.reviewed.append(time.perf_counter() - begun)
        await asyncio.sleep(0.02)


async def _memory(made: Plane, controller: Process, seen: Seen) -> None:
    while True:
        seen.controller = max(seen.controller, controller.memory)
        if made.webhook_process:
            seen.webhook = max(seen.webhook, made.webhook_process.memory)
        await asyncio.sleep(0.5)


# Who means harm


def _groups(number: int) -> tuple[str, ...]:
    """Return the groups of a request; the user of every second one is in very many."""
    return tuple(f"group-{n}@example.com" for n in range(MANY_GROUPS if number % 2 else 0))


def _largest(name: str, turn: int, owner: str) -> Manifest:
    """Return an LNamespace of the largest size: full lists of long names, new each time."""
    lists = {"users": 150, "managers": 49, "sudoers": 50}
    members = {
        field: [{"name": f"{field}-{n}-{name}-{turn}-".ljust(190, "x")} for n in range(most)]
        for field, most in lists.items()
    }
    members["managers"].append({"name": owner})
    return {
        "apiVersion": "tenancy.loblaw.digital/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": name, "annotations": {"a": "x" * 90_000}},
        "spec": members,
    }


async def _mallory(api: Bare, number: int, seen: Seen) -> None:
    """Create LNamespaces to the limit and beyond, edit them, delete some, and repeat."""
    for turn in count():
        name = f"m{number}-{turn % 30}"
        await _try(seen, "create", api.post(COLLECTION, _largest(name, turn, api.user)))
        edited = f"m{number}-{turn % 2}"
        change = {"spec": _largest(edited, turn + 1, api.user)["spec"]}
        await _try(seen, "edit", api.patch(f"{COLLECTION}/{edited}", change))
        if turn % 5 == 4:
            await _try(seen, "delete", api.delete(f"{COLLECTION}/m{number}-{turn % 30 - 2}"))


async def _try(seen: Seen, what: str, request: Awaitable[object]) -> None:
    try:
        await request
        seen.answers[f"{what} done"] += 1
    except aiohttp.ClientError:
        seen.answers[f"{what} without an answer"] += 1
    except RuntimeError as error:
        seen.answers[f"{what} {str(error).split(': ')[1][:3]}"] += 1


class Port:
    """The webhook's own port, as anybody reaches it."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url

    async def ask(self, path: str, body: bytes) -> int:
        """Send a review, and return the HTTP status of the answer, 0 if there was none."""
        with suppress(aiohttp.ClientError, TimeoutError):
            async with self._session.post(self._url + path, data=body, headers=_JSON) as response:
                await response.read()
                return response.status
        return 0


@asynccontextmanager
async def _port(url: str) -> AsyncIterator[Port]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    timeout = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield Port(session, url)


def _forgeries() -> list[tuple[str, bytes]]:
    """Return reviews that no API server would send."""
    asked = json.loads(review("CREATE"))
    asked["request"]["userInfo"]["groups"] = [f"group-{n}@example.com" for n in range(100_000)]
    groups = json.dumps(asked).encode()
    deletion = json.loads(review("CREATE"))
    deletion["request"] |= {"operation": "DELETE", "name": "honest"}
    crowd = json.loads(review("CREATE"))
    crowd["request"]["object"]["spec"]["users"] = [{"name": "x" * 200, "n": n} for n in range(9000)]
    return [
        ("/mutate", groups),
        ("/validate", json.dumps(crowd).encode()),
        ("/depart", json.dumps(deletion).encode()),
        ("/convert", b"[" * 2**20),
        ("/mutate", b"x" * 5 * 2**20),
    ]


def _forge(url: str, forgeries: list[tuple[str, bytes]], seconds: float) -> Counter[str]:
    """Send forged reviews for so many seconds, each as soon as the one before is answered."""
    return asyncio.run(_forge_all(url, forgeries, seconds))


async def _forge_all(url: str, forgeries: list[tuple[str, bytes]], seconds: float) -> Counter[str]:
    answers = Counter[str]()
    async with _port(url) as port:
        work = [_forger(port, path, body, answers) for path, body in forgeries]
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*work), seconds)
    return answers


async def _forger(port: Port, path: str, body: bytes, answers: Counter[str]) -> None:
    while True:
        answers[f"forged {path} {await port.ask(path, body)}"] += 1
        await asyncio.sleep(0.01)


def _percentile(seconds: list[float], which: int) -> float:
    """Return a percentile in milliseconds; infinite if there are no samples."""
    return quantiles(seconds, n=100)[which - 1] * 1000 if len(seconds) > 1 else float("inf")


if __name__ == "__main__":
    sys.exit(main())
