"""Texts for people."""

from collections.abc import Sequence


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
