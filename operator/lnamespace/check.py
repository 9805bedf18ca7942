"""``lnamespace check``: whether the API server reaches the webhook, and stores nothing.

What most often keeps it from that no pod of ours can see: a firewall between control plane and
nodes, or a network policy. So it is the API server that is asked.
"""

import argparse
import asyncio
import secrets
import sys

import msgspec

from lnamespace.errors import ClusterError, NotFound, SettingsError
from lnamespace.kube.client import Access, Client, connect
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION
from lnamespace.model.names import Names
from lnamespace.settings import Settings

_ADVICE = (
    "The API server must reach the webhook: see whether its pods are ready, and whether a firewall "
    "or a network policy is between them (docs/install.md)."
)


class _DryRunSpec(msgspec.Struct, frozen=True):
    requester: str = ""


class _DryRunAnswer(msgspec.Struct, frozen=True):
    spec: _DryRunSpec


def run(settings: Settings, _: argparse.Namespace) -> int:
    """Ask, and say what came of it; 1 if the webhook did not answer or was not asked.

    Raises
    ------
    ClusterError
        Whoever runs this may not create LNamespaces, or the API server gives no answer.
    SettingsError
        The cluster has no such instance.
    """
    problem = asyncio.run(_ask(settings))
    if problem:
        print(f"error: {problem}\n{_ADVICE}", file=sys.stderr)
        return 1
    print("The webhook answers the API server.")
    return 0


async def _ask(settings: Settings) -> str:
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        names = Names(settings.api_group_suffix)
        try:
            return await _create(client, names)
        except NotFound:
            told = f"--api-group-suffix: this cluster has no LNamespaces of {names.group}"
            raise SettingsError(told) from None
        except ClusterError as error:
            return judged(error, f"lnamespace-webhook.{names.group}")


async def _create(client: Client, names: Names) -> str:
    body = {
        "apiVersion": f"{names.group}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": f"check-{secrets.token_hex(6)}"},
        "spec": {"managers": [{"kind": "User", "name": "somebody"}]},
    }
    path = f"/apis/{names.group}/{VERSION}/{PLURAL}"
    answer = await client.create(path, msgspec.json.encode(body), dry_run=True)
    made = msgspec.json.decode(answer, type=_DryRunAnswer)
    return "" if made.spec.requester else "the webhook was not asked: its configuration is missing"


def judged(error: ClusterError, webhook: str) -> str:
    """Tell an answer of the webhook's from none; who is refused by it has its answer.

    Others have webhooks too, of which neither says anything about ours.
    """
    told = str(error)
    if webhook in told and "failed calling webhook" in told:
        return told
    if webhook in told and "denied the request" in told:
        return ""
    raise error
