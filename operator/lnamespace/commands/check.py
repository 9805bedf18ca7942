"""``lnamespace check``: tell whether the API server reaches the webhook, without storing anything.

A firewall between control plane and nodes, or a network policy, is the usual obstacle, and no pod
of ours can see it. The command therefore has the API server try, by a dry run of a creation.
"""

import argparse
import asyncio
import secrets
import sys

import msgspec

from lnamespace.access.conventions import lnamespace_resource
from lnamespace.errors import ClusterError, NotFound, SettingsError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.connection import Access, connect
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


_answer_decoder = msgspec.json.Decoder(_DryRunAnswer)


def run(settings: Settings, _: argparse.Namespace) -> int:
    """Create an LNamespace as a dry run, and print whether the webhook answered.

    Returns
    -------
    int
        The exit code; 1 if the webhook did not answer, or was not called.

    Raises
    ------
    ClusterError
        The caller may not create LNamespaces, or the API server gave no answer.
    SettingsError
        The cluster has no such instance.
    """
    problem = asyncio.run(_problem(settings))
    if problem:
        print(f"error: {problem}\n{_ADVICE}", file=sys.stderr)
        return 1
    print("The webhook answers the API server.")
    return 0


async def _problem(settings: Settings) -> str:
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        names = Names(settings.api_group_suffix)
        try:
            return await _create(client, names)
        except NotFound:
            raise SettingsError(
                f"--api-group-suffix: this cluster has no LNamespaces of {names.group}"
            ) from None
        except ClusterError as error:
            return webhook_problem(error, f"lnamespace-webhook.{names.group}")


async def _create(client: Client, names: Names) -> str:
    resource = lnamespace_resource(names)
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": f"check-{secrets.token_hex(6)}"},
        "spec": {"managers": [{"kind": "User", "name": "somebody"}]},
    }
    answer = await client.create(resource.path(), msgspec.json.encode(body), dry_run=True)
    created = answers.decode(_answer_decoder, answer)
    return (
        "" if created.spec.requester else "the webhook was not asked: its configuration is missing"
    )


def webhook_problem(error: ClusterError, webhook: str) -> str:
    """Return why the API server could not call a webhook; empty if the webhook refused.

    Raises
    ------
    ClusterError
        The error is not about this webhook; the cluster may have others.
    """
    message = str(error)
    if webhook in message and "failed calling webhook" in message:
        return message
    if webhook in message and "denied the request" in message:
        return ""
    raise error
