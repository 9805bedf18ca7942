"""Find the columns of a bill by their names, as OpenCost, BigQuery and others write them."""

import re
from collections.abc import Mapping, Sequence

from lnamespace.errors import SettingsError

Columns = Mapping[str, int]
"""The index of the cell of each meaning in a line."""

_LABEL = ("{}", "labels_{}", "label_{}")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "namespace": ("namespace", *(form.format("k8s_namespace") for form in _LABEL)),
    "start": ("usage_start_time", "usage_start", "start_time", "start", "window_start"),
    "end": ("usage_end_time", "usage_end", "end_time", "end", "window_end"),
    "day": ("date", "day", "usage_date"),
    "cost": ("cost", "net_cost", "total_cost", "totalcost"),
    "credits": ("credits", "credit", "credits_amount"),
    "currency": ("currency", "currency_code"),
    "month": ("invoice_month", "invoice"),
    "labels": ("labels",),
    "project": ("project_id", "project"),
    "location": ("cluster_location",),
    "cluster": ("cluster_name", "cluster"),
    "label_location": tuple(form.format("goog_k8s_cluster_location") for form in _LABEL),
    "label_cluster": tuple(form.format("goog_k8s_cluster_name") for form in _LABEL),
}
_MEANINGS = {name: meaning for meaning, names in _NAMES.items() for name in names}
_UNNESTED = {"labels_key", "labels_value", "credits_name", "label_key", "label_value"}
_NEEDED = (
    "namespace, usage_start_time, usage_end_time, cost, currency; or Date, Namespace, TotalCost"
)


def plain(name: str) -> str:
    """Return a column's name in lower case, with ``_`` for all but letters and digits."""
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")


def is_heading(cells: Sequence[str]) -> bool:
    """Return whether cells look like a heading: two of them are names that bills have."""
    return len({plain(cell) for cell in cells} & _MEANINGS.keys()) > 1


def find_columns(heading: Sequence[str]) -> Columns:
    """Return the index of the column of each meaning.

    Raises
    ------
    SettingsError
        A column is missing, or two have one meaning.
    """
    found: dict[str, int] = {}
    for place, cell in enumerate(heading):
        name = plain(cell)
        if name in _UNNESTED:
            raise SettingsError(
                f"has a column {cell!r}: a line for each label or credit counts its cost several "
                "times. Export one line for each cost, as docs/guides/finance-analyst.md shows"
            )
        meaning = _MEANINGS.get(name)
        if meaning in found:
            raise SettingsError(
                f"has two columns for the {meaning}, {heading[found[meaning]]!r} and {cell!r}: "
                "remove one"
            )
        if meaning:
            found[meaning] = place
    _check(found)
    return found


def _check(found: Columns) -> None:
    missing = [] if {"namespace", "labels"} & found.keys() else ["namespace"]
    if "day" not in found or {"start", "end"} & found.keys():
        spelled = {"start": "usage_start_time", "end": "usage_end_time"}
        missing += [name for meaning, name in spelled.items() if meaning not in found]
    missing += [] if "cost" in found else ["cost"]
    if missing:
        raise SettingsError(f"lacks the columns {', '.join(missing)}. A bill has {_NEEDED}")
