"""What ClusterRoleBindings cost everybody else: ``python -m bench.tax``; see ``--help``.

The API server's RBAC authorizer walks all ClusterRoleBindings for each request of each user, until
one allows it. Measured is what an ordinary person waits for a GET that a RoleBinding in their
namespace allows, as the number of bindings that have nothing to do with them grows. The plain
alternative is the same GET on the same control plane before there are any.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from lnamespace.kube.resources import CLUSTER_ROLE_BINDING, RBAC, ROLE_BINDING

from bench.client import Bare, Manifest, connect, each
from bench.latency import Latency
from bench.plane import ROOT, Plane, plane
from bench.report import Row, machine, table, write

AT_ONCE = 16
PERSON = "somebody-else@example.com"


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(f"{machine()}; {chosen.samples} requests each", file=sys.stderr)
    with plane() as fresh:
        found = asyncio.run(_measure(fresh, chosen))
    rows = [row for bindings in chosen.bindings for row in _rows(bindings, found)]
    print(table(rows))
    figures = {str(bindings): vars(latency) for bindings, latency in found.items()}
    write(chosen.json, rows, {"milliseconds of a GET by bindings": figures})
    print(f"\nalso as JSON: {chosen.json}", file=sys.stderr)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.tax", description=__doc__)
    counts = [1000, 5000, 15000]
    parser.add_argument("--bindings", type=int, nargs="*", default=counts, help=f"[{counts}]")
    parser.add_argument("--samples", type=int, default=500, help="requests of each [500]")
    default = Path("build/bench/tax.json")
    parser.add_argument("--json", type=Path, default=default, help=f"where to write [{default}]")
    return parser.parse_args()


async def _measure(fresh: Plane, chosen: argparse.Namespace) -> dict[int, Latency]:
    person = Path(fresh.run(str(ROOT / "hack" / "new-user.sh"), "ordinary").strip())
    async with connect(fresh.admin_kubeconfig) as admin, connect(person) as ordinary:
        await admin.post(ROLE_BINDING.path(namespace="default"), right("ordinary"))
        found = {0: await latency_of(ordinary, chosen.samples)}
        made = 0
        for bindings in sorted(chosen.bindings):
            print(f"... {bindings} ClusterRoleBindings", file=sys.stderr)
            await each(AT_ONCE, range(made, bindings), lambda n: _bind(admin, n))
            made = bindings
            found[bindings] = await latency_of(ordinary, chosen.samples)
        return found


async def latency_of(ordinary: Bare, samples: int) -> Latency:
    """Return the latency of a GET that a RoleBinding allows, once it does."""
    path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
    await _until_allowed(ordinary, path)
    seconds = []
    for _ in range(samples):
        start = time.perf_counter()
        await ordinary.get(path)
        seconds.append(time.perf_counter() - start)
    return Latency.of(seconds)


async def _until_allowed(ordinary: Bare, path: str) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await ordinary.get(path)
            except RuntimeError:
                await asyncio.sleep(0.05)
            else:
                return


async def _bind(admin: Bare, number: int) -> None:
    subject = {"apiGroup": RBAC, "kind": "User", "name": f"{number}-{PERSON}"}
    await admin.post(
        CLUSTER_ROLE_BINDING.path(),
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"tax-{number:05d}"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
            "subjects": [subject],
        },
    )


def right(user: str) -> Manifest:
    """Return the RoleBinding in namespace default that allows the GET."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "ordinary", "namespace": "default"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }


def _rows(bindings: int, found: dict[int, Latency]) -> list[Row]:
    taxed, none = found[bindings], found[0]
    name = f"GET with {bindings:,} ClusterRoleBindings"
    return [
        Row(f"{name}, p50", "ms", taxed.p50, none.p50),
        Row(f"{name}, p99", "ms", taxed.p99, none.p99),
    ]


if __name__ == "__main__":
    sys.exit(main())
