"""A Sphinx extension: the site's table of contents, which the pages themselves need not carry.

docs/index.md is a page that people read on GitHub too, where a toctree would be noise.
"""

from typing import Any

CONTENTS = {
    "Guides": ["guides/*"],
    "Install and operate": [
        "install",
        "upgrade",
        "instances",
        "profiles",
        "limits",
        "metrics",
        "runbook",
        "production-readiness",
        "performance",
        "vetting",
        "release",
    ],
    "Concepts": [
        "security",
        "lcluster-security",
        "security-tests",
        "sudo-layouts",
        "comparison",
        "lclusters",
        "lcluster-differences",
        "gateway",
        "mine",
        "payers",
        "ledger",
        "bigquery",
        "compatibility",
        "adoption",
    ],
    "Move to LNamespace": ["migration/*"],
    "Reference": ["commands", "reference/*"],
    "Change it": [
        "architecture",
        "testing",
        "what-it-showed",
        "local-control-plane",
        "decisions/README",
        "decisions/*",
    ],
}
"""The captions, and the pages below each; a page that is not there yet is left out."""


def toctrees(found: set[str]) -> str:
    """Return the table of contents of the pages that exist."""
    return "".join(_toctree(caption, pages, found) for caption, pages in CONTENTS.items())


def _toctree(caption: str, pages: list[str], found: set[str]) -> str:
    there = [page for page in pages if page.endswith("*") or page in found]
    head = ["```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", ""]
    return "\n".join(["", "", *head, *there, "```", ""])


def _append(app: Any, page: str, content: list[str]) -> None:
    if page == app.config.root_doc:
        content[0] += toctrees(app.env.found_docs)


def setup(app: Any) -> dict[str, bool]:
    """Set up the extension; Sphinx calls this."""
    app.connect("source-read", _append)
    return {"parallel_read_safe": True}
