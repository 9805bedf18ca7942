"""The ResourceQuota of a namespace's share, shown with the totals of the whole LCluster. Pure."""

import re

from msgspec import Raw
from msgspec.json import encode

from lnamespace.model.names import SHARE_QUOTA
from lnamespace.model.quantities import ShownTotals
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.translators import Encoded, list_of, object_at, text_at, text_of

_PRINTED = re.compile(r"([^\s,]+): [^\s,]+")
"""A resource with its used and hard amounts in a cell."""


def _totals_of(name: str | None, context: TranslationContext) -> ShownTotals | None:
    """Return the totals to show for an object of that name; None if it shows its own values."""
    resource, totals = context.resource, context.view.totals
    is_quota = (resource.group, resource.plural) == ("", "resourcequotas")
    return totals() if is_quota and totals and name == SHARE_QUOTA else None


def totals_shown(members: Encoded, context: TranslationContext) -> Encoded:
    """Return an object; the ResourceQuota of a share with the totals instead of its own amounts.

    Its labels are the platform's, and would hide it.
    """
    metadata = object_at(members, "metadata")
    totals = _totals_of(text_at(metadata, "name"), context)
    if totals is None or not totals.hard:
        return members
    metadata.pop("labels", None)
    members = members | {"metadata": Raw(encode(metadata))}
    if "spec" not in members:
        return members
    spec = {"hard": totals.hard}
    status = {"hard": totals.hard, "used": totals.used}
    return members | {"spec": Raw(encode(spec)), "status": Raw(encode(status))}


def printed_totals(row: Encoded, context: TranslationContext) -> Encoded:
    """Return the cells of a row of a table; those of a share with the totals."""
    cells = list_of(row.get("cells", b"null"))
    if not cells:
        return {}
    totals = _totals_of(text_of(cells[0]), context)
    if totals is None:
        return {}

    def pair(found: re.Match[str]) -> str:
        resource = found[1]
        if resource not in totals.hard:
            return found[0]
        return f"{resource}: {totals.used.get(resource, '0')}/{totals.hard[resource]}"

    texts = ((each, text_of(each)) for each in cells[1:])
    shown = [_PRINTED.sub(pair, text) if text else each for each, text in texts]
    return {"cells": Raw(encode([cells[0], *shown]))}
