"""How long the webhook takes to answer: ``python -m bench.webhook``; see ``--help``.

An open loop asks at a fixed rate, over TLS, by connections that are kept, from a process of its
own; an answer that is late is measured from when its question was due. The plain alternative is a
bare aiohttp server with TLS that answers a constant, asked in the same way in the same run.
"""

import argparse
import asyncio
import multiprocessing
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any

import aiohttp
import msgspec
from aiohttp import web
from lnamespace.admission.certificates.keypairs import CertificateSpec, KeyPair, make_pair
from lnamespace.admission.certificates.tls import ServingCertificate
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.runtime.addresses import Address

from bench.report import Row, machine, table, write

_CONSTANT = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{}}'
_JSON = {"Content-Type": "application/json"}
_CONNECTIONS = 25
"""The number of connections that the API server's client keeps."""


@dataclass(frozen=True)
class WebhookLatency:
    """The milliseconds to an answer."""

    p50: float
    p99: float
    worst: float


@dataclass(frozen=True)
class _Load:
    url: str
    ca: bytes
    body: bytes
    rate: int
    seconds: float


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    pair = make_pair(CertificateSpec.of_options(("127.0.0.1",), 48, 60), datetime.now(UTC))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        with _plain(pair) as address:
            load = _Load("", pair.ca, review("CREATE"), chosen.rate, chosen.seconds)
            plain = _ask(load, f"https://{address}/")
        started = time.monotonic()
        with _webhook(Path(folder), pair) as address:
            start = (time.monotonic() - started) * 1000
            for path, operation in (("/mutate", "CREATE"), ("/validate", "UPDATE")):
                asked = _Load("", pair.ca, review(operation), chosen.rate, chosen.seconds)
                found = _ask(asked, f"https://{address}{path}")
                at = f"{path} at {chosen.rate}/s"
                rows.append(Row(f"{at}, p50", "ms", found.p50, plain.p50))
                rows.append(Row(f"{at}, p99", "ms", found.p99, plain.p99, "< 10 ms"))
                rows.append(Row(f"{at}, worst", "ms", found.worst, plain.worst))
    rows.append(Row("start to listening", "ms", start, None, "< 1 s"))
    print(machine(), file=sys.stderr)
    print(table(rows))
    write(chosen.json, rows, {})
    print(f"\nalso as JSON: {chosen.json}", file=sys.stderr)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.webhook", description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="requests each second [200]")
    parser.add_argument("--seconds", type=float, default=30, help="for each figure [30]")
    default = Path("build/bench-webhook.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


@contextmanager
def _webhook(folder: Path, pair: KeyPair) -> Iterator[str]:
    """Run the real process on one core, with its certificate from a folder; yield its address."""
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    command = [
        sys.executable, "-m", "lnamespace.cli", "webhook", "--listen=127.0.0.1:0",
        f"--certificate-directory={folder}", "--drain-seconds=1",
    ]  # fmt: skip
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        os.sched_setaffinity(process.pid, {0})
        address = ""
        for line in process.stderr or ():
            if "listening" in line:
                address = line.split("'")[1]
            if "serving a certificate" in line:
                break
        try:
            yield address
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def _plain(pair: KeyPair) -> Iterator[str]:
    """Run the plain alternative on the same core; yield its address."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve_plain, args=(theirs, pair), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve_plain(pipe: Any, pair: KeyPair) -> None:
    os.sched_setaffinity(0, {0})
    asyncio.run(_answer_constant(pipe, pair))


async def _answer_constant(pipe: Any, pair: KeyPair) -> None:
    async def constant(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=_CONSTANT, content_type="application/json")

    identity = ServingCertificate(WebhookMetrics.new())
    identity.use(pair)
    runner = web.ServerRunner(web.Server(constant))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=identity.context).start()
    pipe.send(str(Address(*runner.addresses[0][:2])))
    await asyncio.Event().wait()


def _ask(load: _Load, url: str) -> WebhookLatency:
    return asyncio.run(_measure(replace(load, url=url)))


async def _measure(load: _Load) -> WebhookLatency:
    """Send requests at the rate; the first tenth is a warm-up."""
    context = ssl.create_default_context(cadata=load.ca.decode())
    connector = aiohttp.TCPConnector(ssl=context, limit=_CONNECTIONS, keepalive_timeout=90)
    clock = time.perf_counter  # the loop's own counts in milliseconds
    count = int(load.rate * load.seconds)
    async with aiohttp.ClientSession(connector=connector) as session:
        begin = clock() + 0.1

        async def one(index: int) -> float:
            due = begin + index / load.rate
            await asyncio.sleep(due - clock())
            async with session.post(load.url, data=load.body, headers=_JSON) as response:
                await response.read()
                if response.status != 200:
                    raise RuntimeError(f"{load.url}: {response.status}")
            return (clock() - due) * 1000

        taken = await asyncio.gather(*(one(index) for index in range(count)))
    kept = sorted(taken[count // 10 :])
    percentiles = quantiles(kept, n=100)
    return WebhookLatency(percentiles[49], percentiles[98], kept[-1])


def review(operation: str) -> bytes:
    """Return an AdmissionReview as the API server sends it."""
    group = "tenancy.loblaw.digital"
    members = [{"kind": "User", "name": f"u{i}"} for i in range(20)]
    kind = {"group": group, "version": "v1beta1", "kind": "LNamespace"}
    created = {
        "apiVersion": f"{group}/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": "team-a", "uid": "1", "generation": 1},
        "spec": {"users": members, "managers": members[:3], "requester": "u0"},
    }
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "requestKind": kind,
        "resource": {"group": group, "version": "v1beta1", "resource": "lnamespaces"},
        "name": "team-a",
        "operation": operation,
        "userInfo": {"username": "u0", "groups": ["system:authenticated"]},
        "object": created,
        "oldObject": created if operation == "UPDATE" else None,
        "dryRun": False,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return msgspec.json.encode(review)


if __name__ == "__main__":
    sys.exit(main())
