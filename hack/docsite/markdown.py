"""Markdown from values; what a table's cell cannot hold is written as an entity."""

from collections.abc import Iterable, Sequence

GENERATED = "<!-- Written by `make reference` from the code. Do not edit. -->"


def page(title: str, *parts: str) -> str:
    """Return a whole file."""
    return "\n\n".join([GENERATED, f"# {title}", *(part.strip("\n") for part in parts)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown already."""
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(lines)


def code(text: str) -> str:
    """Return a text as code, in a cell too; nothing for an empty text."""
    return f"`{text}`" if text else ""


def block(text: str) -> str:
    """Return lines as a code block."""
    return f"```text\n{text.strip(chr(10))}\n```"


def prose(text: str) -> str:
    """Return a sentence as Markdown in which angle brackets and stars mean themselves."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*")
    return " ".join(escaped.split())


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
