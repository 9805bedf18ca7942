"""The command ``lnamespace gateway check``."""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Sequence

import msgspec
from rich.console import Console

from lnamespace.errors import OptionError
from lnamespace.gateway.check.finding import CheckFinding, Severity
from lnamespace.gateway.check.findings import find_problems
from lnamespace.gateway.check.reading import PlatformReader
from lnamespace.kube.connection import Access, connect
from lnamespace.model.names import Names
from lnamespace.runtime.tables import print_table
from lnamespace.settings import Settings
from lnamespace.translate.discovery.published import Published, decode_published

_STYLES = {Severity.PROBLEM: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
_COLUMNS = ("", "WHAT", "FOUND", "DO")


def run(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print which objects of the platform would leak into LClusters, or collide with them.

    Returns
    -------
    int
        The exit code; 1 if there is a problem.

    Raises
    ------
    OptionError
        The cluster has no such instance, the account is no NAMESPACE/NAME, or what is to be
        published cannot be.
    ClusterError
        The API server gave no answer.
    """
    if arguments.account.count("/") != 1:
        raise OptionError("--account must be NAMESPACE/NAME")
    published = decode_published(settings.gateway_published)
    found = asyncio.run(_findings(settings, arguments.account, published))
    problems = _count(found, Severity.PROBLEM)
    if arguments.output == "json":
        parts = ("severity", "about", "found", "advice")
        findings = [{part: getattr(each, part) for part in parts} for each in found]
        answer = {"passed": not problems, "findings": findings}
        text = msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
        sys.stdout.write(f"{text}\n")
    else:
        print_findings(found)
    return 1 if problems else 0


async def _findings(
    settings: Settings, account: str, published: Published
) -> tuple[CheckFinding, ...]:
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        names = Names(settings.api_group_suffix)
        reader = PlatformReader(client, names, account, published)
        return find_problems(await reader.read())


def print_findings(found: Sequence[CheckFinding]) -> None:
    """Print the findings as a table, and the verdict."""
    out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    rows = [
        (_STYLES[each.severity], (each.severity.value, each.about, each.cell, each.advice))
        for each in found
    ]
    if rows:
        print_table(out, _COLUMNS, rows)
        out.print()
    problems, warnings = _count(found, Severity.PROBLEM), _count(found, Severity.WARNING)
    if not problems:
        out.print(
            f"Passed, with warnings: {warnings}. Look at them and decide."
            if warnings
            else "Passed: nothing leaks into LClusters, and nothing collides with them."
        )
    out.file.flush()
    if problems:
        sys.stderr.write(f"error: problems: {problems}. They are above, with what to do\n")


def _count(found: Iterable[CheckFinding], severity: Severity) -> int:
    return sum(each.severity is severity for each in found)
