"""Texts for people."""

from collections.abc import Sequence


def install_advice(extra: str) -> str:
    """Return how to install the optional libraries of an extra of pyproject.toml."""
    return f"run: pip install 'lnamespace[{extra}]' (the container image has it)"


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
