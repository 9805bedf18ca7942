"""The real process, from its start to its end; no cluster, the certificate from a folder."""

import asyncio
import os
import re
import signal
import ssl
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from lnamespace.admission.certificates.keypairs import KeyPair

from tests.unit.support.reviews import DEADLINE, JSON, fresh, trusting, until

REVIEW = (
    b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview",'
    b'"request":{"uid":"1","desiredAPIVersion":"tenancy.loblaw.digital/v1beta1","objects":[]}}'
)


@dataclass
class Webhook:
    """A process that answers."""

    process: Process
    address: str
    health: str
    folder: Path
    lines: list[str]

    async def probe(self, path: str) -> tuple[int, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://{self.health}{path}") as response,
        ):
            return response.status, await response.text()

    async def ends(self) -> int:
        async with asyncio.timeout(DEADLINE):
            return await self.process.wait()


def write(folder: Path, pair: KeyPair) -> None:
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


@asynccontextmanager
async def webhook(folder: Path, drain: int = 1) -> AsyncIterator[Webhook]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "lnamespace.cli", "webhook",
        "--listen=127.0.0.1:0", "--health-listen=127.0.0.1:0",
        f"--certificate-directory={folder}", f"--drain-seconds={drain}",
        stderr=PIPE, env={"HOME": str(folder), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    lines: list[str] = []
    reading = asyncio.create_task(read(process, lines))
    try:
        await until(lambda: any("answering probes" in line for line in lines))
        found = re.findall(r"address='([^']+)'", "".join(lines))
        yield Webhook(process, found[0], found[1], folder, lines)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


async def read(process: Process, lines: list[str]) -> None:
    assert process.stderr
    while line := await process.stderr.readline():
        lines.append(line.decode())


async def ready(running: Webhook, status: int = 200) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            if (await running.probe("/readyz"))[0] == status:
                return
            await asyncio.sleep(0.01)


class Load:
    """Asks again and again, eight at a time, and keeps what went wrong."""

    def __init__(self, running: Webhook, context: ssl.SSLContext, *, keep: bool = True) -> None:
        self.answered = 0
        self.wrong: list[str] = []
        self.enough = False
        connector = aiohttp.TCPConnector(ssl=context, force_close=not keep)
        self._session = aiohttp.ClientSession(connector=connector)
        self._url = f"https://{running.address}/convert"
        self._tasks = [asyncio.create_task(self._ask()) for _ in range(8)]

    async def _ask(self) -> None:
        while not self.enough:
            try:
                async with self._session.post(self._url, data=REVIEW, headers=JSON) as response:
                    await response.read()
                    assert response.status == 200
                    self.answered += 1
            except (aiohttp.ClientError, AssertionError) as error:
                self.wrong.append(repr(error))
                return

    async def grows(self, by: int = 100) -> None:
        goal = self.answered + by
        await until(lambda: self.answered >= goal or bool(self.wrong))

    async def stop(self) -> None:
        self.enough = True
        await asyncio.gather(*self._tasks)
        await self._session.close()


async def test_the_probes_report_the_liveness_and_readiness_of_the_process(tmp_path: Path) -> None:
    async with webhook(tmp_path, drain=4) as running:
        assert await running.probe("/livez") == (200, "ok\n")
        assert await running.probe("/readyz") == (503, "there is no certificate yet\n")
        assert (await running.probe("/convert"))[0] == 404
        write(tmp_path, fresh())
        await ready(running)
        _, metrics = await running.probe("/metrics")
        assert "lnamespace_webhook_certificate_expiry_timestamp_seconds 1" in metrics
        assert "lnamespace_webhook_certificate_not_before_timestamp_seconds 1" in metrics
        # Somebody else makes the certificate: whether it is trusted is not known here.
        assert "lnamespace_webhook_certificate_trusted" not in metrics
        running.process.send_signal(signal.SIGTERM)
        await ready(running, 503)
        assert (await running.probe("/readyz"))[1] == "stopping\n"
        assert (await running.probe("/livez"))[0] == 200
        assert await running.ends() == 0


async def test_the_process_stops_under_load_without_a_refused_request(tmp_path: Path) -> None:
    pair = fresh()
    write(tmp_path, pair)
    async with webhook(tmp_path, drain=5) as running:
        await ready(running)
        load = Load(running, trusting(pair))
        await load.grows(50)
        running.process.send_signal(signal.SIGTERM)
        await ready(running, 503)
        await load.grows(50)
        await load.stop()
        assert load.wrong == []
        assert await running.ends() == 0
        assert not any("Traceback" in line for line in running.lines)


async def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    async with webhook(tmp_path, drain=600) as running:
        running.process.send_signal(signal.SIGTERM)
        await ready(running, 503)
        running.process.send_signal(signal.SIGTERM)
        assert await running.ends() == 128 + signal.SIGTERM


@pytest.mark.thorough
@pytest.mark.parametrize("keep", [True, False])
async def test_a_certificate_renewal_under_load_refuses_no_request(
    tmp_path: Path, *, keep: bool
) -> None:
    old, new = fresh(), fresh()
    write(tmp_path, old)
    async with webhook(tmp_path) as running:
        await ready(running)
        load = Load(running, trusting(old, new), keep=keep)
        await load.grows(20)
        write(tmp_path, new)
        await until(lambda: sum("serving a certificate" in line for line in running.lines) == 2)
        await load.grows(20)
        await load.stop()
        assert load.wrong == []


@pytest.mark.parametrize(
    ("flag", "said", "code"),
    [
        ("--listen=nonsense", "--listen: 'nonsense' is not HOST:PORT", 2),
        ("--listen=192.0.2.1:0", "--listen: cannot listen", 1),
        ("--health-listen=x", "--health-listen: 'x' is not HOST:PORT", 2),
        ("--certificate-directory=/nope", "--certificate-directory: there is no folder /nope", 1),
    ],
)
async def test_a_wrong_option_is_reported(tmp_path: Path, flag: str, said: str, code: int) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "lnamespace.cli", "webhook", "--listen=127.0.0.1:0",
        f"--certificate-directory={tmp_path}", flag,
        stderr=PIPE, env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    async with asyncio.timeout(DEADLINE):
        _, log = await process.communicate()
    assert process.returncode == code
    assert f"error: {said}" in log.decode()
