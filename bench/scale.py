"""The same figures at several numbers of LNamespaces: ``python -m bench.scale [FOLDER]``.

Reads ``COUNT.json`` of ``python -m bench``. In brackets is the multiple of the plain alternative.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.report import Row, amount


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/bench"))
    folder: Path = parser.parse_args().folder
    counts = sorted(int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal())
    if not counts:
        parser.error(f"{folder} has no COUNT.json: run `python -m bench --json {folder}/1000.json`")
    columns = [_figures(folder / f"{count}.json", count) for count in counts]
    lines = [["", *(f"{count:,}" for count in counts)]]
    lines += [[name, *(column.get(name, "") for column in columns)] for name in columns[-1]]
    print(_aligned(lines))
    return 0


def _figures(path: Path, count: int) -> dict[str, str]:
    fields = Row.__dataclass_fields__
    figures = json.loads(path.read_text())["figures"]
    rows = [Row(**{key: row[key] for key in fields}) for row in figures]
    return {row.name.removeprefix(f"{count}, "): _cell(row) for row in _own(rows)}


def _own(rows: Iterable[Row]) -> Iterable[Row]:
    """Return the rows without kubectl's: its speed does not depend on the number of LNamespaces."""
    return (row for row in rows if not row.name.startswith("kubectl"))


def _cell(row: Row) -> str:
    return amount(row.ours, row.unit) + ("" if row.ratio is None else f" ({row.ratio:.2f})")


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(map(str.ljust, line, widths)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


if __name__ == "__main__":
    sys.exit(main())
