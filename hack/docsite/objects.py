"""The sample objects, on one page."""

from collections.abc import Mapping
from typing import Any

from lnamespace.access.layout import Layout
from lnamespace.model.crd import as_yaml
from lnamespace.samples import samples

from docsite.markdown import page


def objects() -> str:
    """An LNamespace in both versions, and what gives its sudoers their power."""
    return page(
        "Sample objects",
        "An LNamespace `payments`, and the objects that the controller makes for its sudoers. The "
        "files are in `docs/resource-samples`; `lnamespace render samples` writes them.",
        *(_section(name, manifest) for name, manifest in samples(Layout()).items()),
    )


def _section(name: str, manifest: Mapping[str, Any]) -> str:
    return f"## {name}\n\n```yaml\n{as_yaml(dict(manifest))}```"
