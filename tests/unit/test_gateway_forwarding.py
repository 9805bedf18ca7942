"""Requests of a tenant and their answers, as the gateway forwards them."""

import asyncio
import json

from tests.unit.support.forwarded import forwarding
from tests.unit.support.server import DEADLINE
from tests.unit.support.translation import LABEL

NAMESPACES = "/api/v1/namespaces"


def named(name: str) -> bytes:
    return json.dumps({"metadata": {"name": name}}).encode()


async def test_a_dry_run_of_a_namespace_does_not_wait_for_rights_in_it() -> None:
    """The gateway waited 10 s to be let in where nothing had been made."""
    async with forwarding() as tenant:
        began = asyncio.get_running_loop().time()
        asked = tenant.ask("POST", f"{NAMESPACES}?dryRun=All", named("new"))
        sent = await tenant.platform.next("POST", dryRun="All")
        made = {"name": "acme-new", "labels": {LABEL: "acme"}}
        sent.answer({"kind": "Namespace", "metadata": made}, 201)
        async with asyncio.timeout(DEADLINE):
            answered = await asked
        assert answered.status == 201
        assert asyncio.get_running_loop().time() - began < 9
