"""The generated pages of the reference, by the names of their files."""

from collections.abc import Mapping

from docsite import chart, commands, fields, objects


def pages() -> Mapping[str, str]:
    """Return all pages of the reference."""
    return {
        "lnamespace.md": fields.lnamespaces(),
        "billingrecord.md": fields.billingrecords(),
        "chart.md": chart.values(chart.VALUES.read_text(encoding="utf-8")),
        "operator.md": commands.lnamespace(),
        "plugins.md": commands.plugins(),
        "samples.md": objects.objects(),
    }
