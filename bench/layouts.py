"""What the two layouts of sudo cost everybody else: ``python -m bench.layouts``; see ``--help``.

The API server looks through all ClusterRoleBindings at each request of everybody. Measured is what
an ordinary person waits for a GET in a namespace of their own, beside LNamespaces with a sudoer
each, in both layouts (docs/sudo-layouts.md). Made are the objects that the controller would make
outside of the tenants' namespaces; those inside are looked at by requests there alone. The plain
alternative is the same GET on the same control plane before there are any.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from lnamespace.access.conventions import Conventions, SudoLayout
from lnamespace.access.entries import active_entries
from lnamespace.access.impersonator import self_impersonator
from lnamespace.access.lnamespace import editor_objects
from lnamespace.access.sudo import sudo_objects
from lnamespace.kube.resources import CLUSTER_ROLE_BINDING, NAMESPACE, ROLE_BINDING
from lnamespace.kube.state import DesiredObject
from lnamespace.model.lnamespace import LNamespace, Metadata, Spec
from lnamespace.model.subject import Member

from bench.client import Bare, connect, each
from bench.latency import Latency
from bench.plane import ROOT, Plane, plane
from bench.report import Row, machine, table, write
from bench.tax import AT_ONCE, latency_of, right


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(f"{machine()}; {chosen.samples} requests each", file=sys.stderr)
    rows: list[Row] = []
    for layout in SudoLayout:
        with plane() as fresh:
            rows += asyncio.run(_measure(fresh, Conventions(sudo=layout), chosen))
    print(table(rows))
    write(chosen.json, rows, {})
    print(f"\nalso as JSON: {chosen.json}", file=sys.stderr)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.layouts", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="LNamespaces [1000]")
    parser.add_argument("--samples", type=int, default=500, help="requests of each [500]")
    default = Path("build/bench/layouts.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


async def _measure(fresh: Plane, conventions: Conventions, chosen: argparse.Namespace) -> list[Row]:
    person = Path(fresh.run(str(ROOT / "hack" / "new-user.sh"), "ordinary").strip())
    async with connect(fresh.admin_kubeconfig) as admin, connect(person) as ordinary:
        await admin.post(ROLE_BINDING.path(namespace="default"), right("ordinary"))
        plain = await latency_of(ordinary, chosen.samples)
        home = {"metadata": {"name": conventions.names.sudo_namespace}}
        await admin.post(NAMESPACE.path(), {"apiVersion": "v1", "kind": "Namespace"} | home)
        print(f"... {chosen.count} LNamespaces, layout {conventions.sudo}", file=sys.stderr)
        await each(AT_ONCE, range(chosen.count), lambda n: _make(admin, n, conventions))
        there = await admin.get(CLUSTER_ROLE_BINDING.path())
        await asyncio.sleep(1)
        taxed = await latency_of(ordinary, chosen.samples)
    return _rows(conventions, chosen.count, len(there["items"]), taxed, plain)


async def _make(admin: Bare, number: int, conventions: Conventions) -> None:
    for wanted in _objects(number, conventions):
        manifest = wanted.object.manifest()
        # There is no LNamespace: the garbage collector would take them at once.
        del manifest["metadata"]["ownerReferences"]
        await admin.post(wanted.resource.path(namespace=wanted.key[0]), manifest)


def _objects(number: int, conventions: Conventions) -> Iterator[DesiredObject]:
    """Yield the objects outside of the Namespace of an LNamespace with a sudoer of its own."""
    name, sudoer = f"team-{number:05d}", Member(f"person-{number:05d}@example.com")
    lns = LNamespace(Metadata(name, "none"), Spec(managers=(sudoer,), sudoers=(sudoer,)))
    now = active_entries(lns.spec, datetime.now(UTC))
    objects = [*editor_objects(lns, now, conventions), *sudo_objects(lns, now, conventions)]
    if conventions.sudo is SudoLayout.GROUP:
        objects += self_impersonator(sudoer.subject, {name: lns.uid}, conventions)
    yield from (wanted for wanted in objects if wanted.key[0] != name)


def _rows(
    conventions: Conventions, count: int, bindings: int, taxed: Latency, plain: Latency
) -> list[Row]:
    name = (
        f"GET beside {count:,} LNamespaces, {conventions.sudo} ({bindings:,} ClusterRoleBindings)"
    )
    return [
        Row(f"{name}, p50", "ms", taxed.p50, plain.p50),
        Row(f"{name}, p99", "ms", taxed.p99, plain.p99),
    ]


if __name__ == "__main__":
    sys.exit(main())
