"""The command ``lnamespace vet``."""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from lnamespace.access.vetting import VettingResult, vet_rights
from lnamespace.errors import SettingsError
from lnamespace.kube.connection import Access, connect
from lnamespace.settings import Settings
from lnamespace.vet import cluster, report, snapshot
from lnamespace.vet.cluster import ObservedRole
from lnamespace.vet.snapshot import Snapshot


@dataclass(frozen=True)
class _Finding:
    """A role and the snapshot in ``file`` that it is compared with; None counts as empty."""

    role: ObservedRole
    file: Path
    vetted: Snapshot | None
    exact: bool
    """Whether the snapshot is of the server's own version."""

    @property
    def result(self) -> VettingResult:
        return vet_rights(self.role.rights, self.vetted.rights if self.vetted else frozenset())


def run(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the difference between the role and the nearest snapshot.

    Returns
    -------
    int
        The exit code; 0 if tenants may have the role as it is, or it was recorded.

    Raises
    ------
    SettingsError
        There is no such role, no folder of that name, or a snapshot cannot be read or written.
    ClusterError
        The role cannot be read.
    """
    folder = snapshot.folder(arguments.snapshots, record=arguments.record)
    role = asyncio.run(_read(settings))
    finding = _compare(role, folder)
    recorded = _record(finding, folder) if arguments.record else None
    passed = finding.result.passed or recorded is not None
    if arguments.output == "json":
        sys.stdout.write(_json(finding, recorded, passed=passed))
    else:
        _print(finding, recorded)
    return 0 if passed else 1


async def _read(settings: Settings) -> ObservedRole:
    async with connect(Access(settings.kubeconfig, settings.context)) as client:
        return await cluster.read(client, settings.users_role)


def _compare(role: ObservedRole, folder: Path) -> _Finding:
    version = snapshot.version_of(role.server)
    found = snapshot.nearest(version, snapshot.recorded(folder))
    file = snapshot.file_of(folder, found or version)
    return _Finding(role, file, snapshot.load(file) if found else None, found == version)


def _record(finding: _Finding, folder: Path) -> Path | None:
    """Write a snapshot of the role; return None if it has a right that no tenant may have."""
    if finding.result.refused:
        return None
    role = finding.role
    file = snapshot.file_of(folder, snapshot.version_of(role.server))
    fresh = Snapshot(role.name, role.server, f"{datetime.now(UTC):%Y-%m-%d}", role.rights)
    if finding.exact and finding.vetted and fresh.says_the_same(finding.vetted):
        return file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(snapshot.encode(fresh), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: cannot be written: {error.strerror}") from error
    return file


def _json(finding: _Finding, recorded: Path | None, *, passed: bool) -> str:
    vetted = finding.vetted
    compared = vetted and {
        "file": str(finding.file),
        "role": vetted.role,
        "kubernetes": vetted.server,
        "date": vetted.date,
        "exact": finding.exact,
    }
    answer = {
        "role": finding.role.name,
        "kubernetes": finding.role.server,
        "passed": passed,
        "snapshot": compared,
        "recorded": recorded and str(recorded),
        **report.as_json(report.rows(finding.result, finding.role)),
    }
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n"


def _print(finding: _Finding, recorded: Path | None) -> None:
    out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    out.print("\n".join(_head(finding)))
    if shown := report.rows(finding.result, finding.role):
        out.print()
        report.show(out, shown)
    out.print()
    if recorded:
        out.print(f"Recorded in {recorded}: look through what is new in it, and commit it.")
    elif finding.result.passed:
        out.print("Passed: nothing is new.")
    out.file.flush()
    if not recorded:
        sys.stderr.writelines(f"error: {line}\n" for line in _faults(finding.result))


def _head(finding: _Finding) -> Iterator[str]:
    role, vetted = finding.role, finding.vetted
    yield f"ClusterRole {role.name} on Kubernetes {role.server} gives {len(role.rights)} rights."
    if vetted is None:
        yield f"{finding.file.parent} has no snapshot for this version or an earlier one."
        return
    what = f"{finding.file}: {vetted.role} on {vetted.server}, {vetted.date}"
    if finding.exact:
        yield f"Compared with {what}."
    else:
        yield f"Compared with {what}, the nearest earlier one: there is none for this version."


def _faults(found: VettingResult) -> Iterator[str]:
    if found.refused:
        yield (
            f"rights that no tenant may have: {len(found.refused)}. They are never recorded: take "
            "them from the role that they are from, or name a narrower one by --users-role"
        )
    if found.gained:
        yield (
            f"rights that are new: {len(found.gained)}. Look through them; if tenants may have "
            "them, run this with --record"
        )
