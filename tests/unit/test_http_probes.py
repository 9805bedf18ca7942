"""What a process says of itself to probes and to Prometheus."""

import asyncio
from dataclasses import dataclass, field

import aiohttp
import pytest
from lnamespace.errors import SettingsError
from lnamespace.http.probes import Probes, serve_probes

from tests.unit.support.server import DEADLINE


@dataclass
class Patient:
    """A process with troubles, or without."""

    unready: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)

    def probes(self) -> Probes:
        return Probes(
            lambda: next(iter(self.unready), None),
            lambda: b"m 1\n",
            lambda: next(iter(self.dead), None),
        )


async def test_probes_and_metrics_are_served_over_http() -> None:
    patient = Patient()
    async with (
        serve_probes("127.0.0.1:0", patient.probes()) as address,
        aiohttp.ClientSession(f"http://{address}") as session,
    ):

        async def get(path: str, method: str = "GET") -> tuple[int, str]:
            async with session.request(method, path) as response:
                return response.status, await response.text()

        assert await get("/livez") == (200, "ok\n")
        assert await get("/readyz") == (200, "ok\n")
        patient.unready.append("the ledger: down")
        assert await get("/readyz") == (503, "the ledger: down\n")
        assert await get("/livez") == (200, "ok\n")
        patient.dead.append("stuck")
        assert await get("/livez") == (503, "stuck\n")
        assert await get("/metrics") == (200, "m 1\n")
        assert (await get("/nowhere"))[0] == 404
        assert (await get("/livez", "POST"))[0] == 405


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:x", "256.0.0.1:80", "192.0.2.1:0"])
async def test_an_invalid_listen_address_is_a_settings_error(address: str) -> None:
    with pytest.raises(SettingsError, match="--health-listen"):
        async with serve_probes(address, Patient().probes()):
            pass


async def test_an_empty_listen_address_disables_the_probes() -> None:
    async with serve_probes("", Patient().probes()) as address:
        assert address == ""


async def test_idle_connections_do_not_block_probes() -> None:
    async with serve_probes("127.0.0.1:0", Patient().probes()) as address:
        host, _, port = address.rpartition(":")
        silent = [await asyncio.open_connection(host, int(port)) for _ in range(100)]
        try:
            cut: set[asyncio.StreamReader] = set()
            async with asyncio.timeout(DEADLINE):
                while len(cut) < 36:
                    cut |= {reader for reader, _ in silent if await _is_cut(reader)}
            assert len(cut) == 36
        finally:
            for _, writer in silent:
                writer.close()


async def _is_cut(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(0.02):
            return await reader.read(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False
