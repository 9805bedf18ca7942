"""Tables for people and for programs that read them."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_table(
    console: Console, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> None:
    """Print a table: in colour on a terminal, elsewhere as plain text without wrapping.

    Empty columns are left out. Control characters in cells are escaped.

    Parameters
    ----------
    rows
        The style and the cells of each.
    """
    lines = [(style, [_visible(cell) for cell in cells]) for style, cells in rows]
    used = [i for i in range(len(columns)) if any(cells[i] for _, cells in lines)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in used:
        table.add_column(columns[column], overflow="fold")
    for style, cells in lines:
        table.add_row(*(Text(cells[column]) for column in used), style=style)
    if console.is_terminal:
        console.print(table)
        return
    wide = Console(file=console.file, width=10_000, color_system=None)
    with wide.capture() as capture:
        wide.print(table)
    plain = (line.rstrip() for line in capture.get().splitlines())
    console.file.write("".join(f"{line}\n" for line in plain))


def _visible(text: str) -> str:
    """Escape text of the cluster in which a terminal would find control sequences."""
    return text if text.isprintable() else ascii(text)
