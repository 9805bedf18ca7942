"""The command line of `make conformance`."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import cast

from tests.e2e.support.cluster import running

from . import suite
from .clusters import WORDS, ConformanceCluster, tenant_kubeconfig
from .comparison import Comparison, read_reasons
from .scanning import Scanner, scanned

EXCEPTIONS = suite.HERE / "exceptions.yaml"


def main() -> int:
    """Run the specs directly and through the gateway; fail if one passes only directly."""
    arguments = _parser().parse_args()
    executable = suite.ensure()
    names = suite.specs(arguments.only, further=arguments.further)
    output = Path(arguments.output).absolute()
    with tempfile.TemporaryDirectory(prefix="lnamespace-conformance-") as folder:
        compared, scanner = _compare(executable, names, Path(folder), output)
    print("\n".join(compared.lines()))
    (output / "results.json").write_text(
        json.dumps({"direct": dict(compared.direct), "gateway": dict(compared.gateway)}, indent=2)
    )
    for spec in compared.outdated():
        print(f"{EXCEPTIONS.name} says that this does not pass, and it does: {spec}")
    for leak in scanner.leaks:
        print(f"a word of another LCluster, of the platform or the prefix was answered: {leak!r}")
    print(
        f"{scanner.size / 2**20:.0f} MiB were answered through the gateway; "
        f"words of others in them: {len(scanner.leaks)}."
    )
    return 1 if compared.failed or scanner.leaks else 0


def _compare(
    executable: Path, names: list[str], folder: Path, output: Path
) -> tuple[Comparison, Scanner]:
    reports = Path(tempfile.mkdtemp(prefix="run-", dir=_made(output)))
    with running(folder, ConformanceCluster) as cluster:
        cluster = cast(ConformanceCluster, cluster)
        admin = Path(cluster.environment["KUBECONFIG"])
        tenant = tenant_kubeconfig(cluster)
        print(f"Running {len(names)} specs directly; reports are in {reports}", flush=True)
        direct = suite.run(executable, admin, names, reports / "direct")
        print("Running them through the gateway", flush=True)
        scanner = Scanner([word.encode() for word in WORDS])
        with scanned(tenant, scanner, cluster.certificates) as through:
            gateway = suite.run(executable, through, names, reports / "gateway")
    return Comparison(names, direct, gateway, read_reasons(EXCEPTIONS)), scanner


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make conformance",
        description="Kubernetes' conformance specs that need no node: directly on a control plane, "
        "and through the gateway as a tenant.",
    )
    parser.add_argument("--only", default="", help="a regular expression for the specs' names")
    told = "other specs that need no node than those of conformance"
    parser.add_argument("--further", action="store_true", help=told)
    parser.add_argument("--output", default="build/conformance", help="where the reports go")
    return parser
