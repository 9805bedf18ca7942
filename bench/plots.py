"""Draw what was measured: ``python -m bench.plots [FOLDER] [TARGET]``.

Reads ``COUNT.json`` of ``python -m bench``, ``tax.json`` of ``python -m bench.tax`` and
``gateway.json`` of ``python -m bench.gateway``; writes each picture as PNG, which does not depend
on when it is drawn.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OURS, PLAIN, PEER = "#0072B2", "#999999", "#D55E00"
"""Okabe and Ito's colours, which everybody can tell apart."""

PEERS = {
    "all Ready": (", all Ready", 4.8),
    "create\nto Ready, p50": ("create to Ready, p50", 3.3),
    "edit\nto revoked, p50": ("edit to revoked, p50", 9.1),
    "edit to revoked\nunder churn, p50": ("  with 5 edits/s elsewhere, p50", 27.0),
    "binding deleted\nto back, p50": ("binding deleted to back, p50", 6.8),
}
"""Figures that both have as a multiple of the baseline client: ours, and Capsule's (median)."""

GATEWAY = {
    "GET": "GET, p50",
    "create": "create, p50",
    "patch": "patch, p50",
    "LIST\nof 1,000": "LIST of 1000, p50",
    "LIST of 2,000\nin all namespaces": "LIST of 2000 in all namespaces, p50",
    "/apis,\nasked again": "/apis, asked again, p50",
    "/openapi/v2,\nasked again": "/openapi/v2, asked again, p50",
}
"""Requests through the gateway and directly."""

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


@dataclass(frozen=True)
class Measured:
    """The figures of one run, by name."""

    count: int
    figures: Mapping[str, Mapping[str, Any]]

    def ours(self, name: str) -> float:
        """Return our figure whose name ends with a text."""
        return float(self._figure(name)["ours"])

    def plain(self, name: str) -> float:
        """Return the same figure of the plain alternative."""
        return float(self._figure(name)["plain"])

    def _figure(self, name: str) -> Mapping[str, Any]:
        return next(row for key, row in self.figures.items() if key.endswith(name))


def main() -> int:
    """Draw each plot for which there are figures."""
    chosen = _arguments()
    chosen.target.mkdir(parents=True, exist_ok=True)
    runs = [_read(path) for path in chosen.folder.glob("*.json") if path.stem.isdecimal()]
    runs.sort(key=lambda run: run.count)
    with mpl.rc_context(STYLE):
        if runs:
            _save(_scale(runs), chosen.target / "scale")
            _save(_beside_peer(_nearest(runs, 1000)), chosen.target / "beside-capsule")
        if (tax := chosen.folder / "tax.json").exists():
            _save(_tax(json.loads(tax.read_text())), chosen.target / "rbac-tax")
        if (gateway := chosen.folder / "gateway.json").exists():
            _save(_gateway(_named(gateway)), chosen.target / "gateway")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.plots", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/bench"))
    parser.add_argument("target", type=Path, nargs="?", default=Path("build/bench"))
    return parser.parse_args()


def _read(path: Path) -> Measured:
    return Measured(int(path.stem), _named(path))


def _named(path: Path) -> dict[str, Mapping[str, Any]]:
    content = json.loads(path.read_text())
    return {row["name"]: row for row in content["figures"]}


def _nearest(runs: Sequence[Measured], count: int) -> Measured:
    return min(runs, key=lambda run: abs(run.count - count))


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None})


def _scale(runs: Sequence[Measured]) -> Figure:
    figure = Figure(figsize=(10, 7), layout="constrained")
    (rate, latency), (each, restart) = figure.subplots(2, 2)
    counts = [run.count for run in runs]
    name = ", all Ready"
    _line(rate, counts, [n / run.ours(name) for n, run in zip(counts, runs, strict=True)], "ours")
    plain = [n / run.plain(name) for n, run in zip(counts, runs, strict=True)]
    _line(rate, counts, plain, "a bare client", PLAIN)
    _finish(rate, "LNamespaces made in a second", counts)
    for what, colour in (("create to Ready", OURS), ("edit to revoked", PEER)):
        _line(latency, counts, [run.ours(f"{what}, p50") for run in runs], f"{what}, p50", colour)
        p99 = [run.ours(f"{what}, p99") for run in runs]
        _line(latency, counts, p99, f"{what}, p99", colour, dashed=True)
    _finish(latency, "milliseconds", counts)
    _line(each, counts, [run.ours("controller CPU for each") for run in runs], "ms of CPU")
    _line(each, counts, [run.ours("memory for each") for run in runs], "KiB of memory", PEER)
    _finish(each, "the controller's cost of each", counts)
    caught_up = "restart: caught up after"
    _line(restart, counts, [run.ours(caught_up) for run in runs], "restart, caught up after")
    listed = [run.plain(caught_up) for run in runs]
    _line(restart, counts, listed, "a bare LIST of the same", PLAIN)
    _finish(restart, "seconds", counts)
    return figure


def _beside_peer(run: Measured) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    ours = [run.ours(name) / run.plain(name) for name, _ in PEERS.values()]
    theirs = [peer for _, peer in PEERS.values()]
    for offset, values, colour, label in (
        (-0.2, ours, OURS, f"LNamespace, {run.count:,}"),
        (0.2, theirs, PEER, "Capsule 0.14.0, tuned, 1,000"),
    ):
        places = [index + offset for index in range(len(values))]
        bars = axes.bar(places, values, 0.38, color=colour, label=label)
        axes.bar_label(bars, fmt="%.1f", fontsize=9)
    axes.axhline(1, color=PLAIN, linewidth=1)
    axes.set_xticks(range(len(PEERS)), list(PEERS))
    axes.set_ylabel("times a bare client (less is better)")
    axes.grid(visible=False, axis="x")
    axes.legend(frameon=False)
    return figure


def _tax(content: Mapping[str, Any]) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    found = content["details"]["milliseconds of a GET by bindings"]
    bindings = [int(count) for count in found]
    _line(axes, bindings, [one["p50"] for one in found.values()], "p50")
    _line(axes, bindings, [one["p99"] for one in found.values()], "p99", PEER)
    axes.set_xlabel("ClusterRoleBindings in the cluster")
    axes.set_ylabel("milliseconds of somebody else's GET")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def _gateway(found: Mapping[str, Mapping[str, Any]]) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    rows = [found[name] for name in GATEWAY.values()]
    bars = axes.bar(range(len(rows)), [row["ratio"] for row in rows], 0.6, color=OURS)
    labels = [f"{row['ratio']:.2f}\n{row['ours']:.1f} ms" for row in rows]
    axes.bar_label(bars, labels, label_type="center", color="white", fontsize=9)
    goals = [float(row["goal"].removeprefix("<= ")) for row in rows]
    places = [index - 0.4 for index in range(len(rows))]
    ends = [index + 0.4 for index in range(len(rows))]
    axes.hlines(goals, places, ends, color=PEER, linewidth=2, label="goal")
    axes.axhline(1, color=PLAIN, linewidth=1, label="the API server, directly")
    axes.set_xticks(range(len(rows)), list(GATEWAY), fontsize=8)
    axes.set_ylim(top=max(*goals, *(row["ratio"] for row in rows)) * 1.25)
    axes.set_ylabel("times a direct request, p50 (less is better)")
    axes.grid(visible=False, axis="x")
    axes.legend(frameon=False, loc="upper left")
    return figure


def _line(
    axes: Axes,
    places: Sequence[float],
    values: Sequence[float],
    label: str,
    colour: str = OURS,
    *,
    dashed: bool = False,
) -> None:
    style = "--" if dashed else "-"
    axes.plot(places, values, style, marker="o", markersize=4, color=colour, label=label)


def _finish(axes: Axes, what: str, counts: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.minorticks_off()
    axes.set_xlabel("LNamespaces")
    axes.set_ylabel(what)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


if __name__ == "__main__":
    sys.exit(main())
