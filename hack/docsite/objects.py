"""The sample objects, on one page."""

from collections.abc import Mapping
from typing import Any

from lnamespace.access.conventions import Conventions
from lnamespace.commands.samples import sample_manifests
from lnamespace.model.crd import to_yaml

from docsite.markdown import page


def objects() -> str:
    """Return an LNamespace in both versions, and the objects that give its sudoers their rights."""
    return page(
        "Sample objects",
        "An LNamespace `payments`, and the objects that the controller makes for its sudoers. The "
        "files are in `docs/resource-samples`; `lnamespace render samples` writes them.",
        *(_section(name, manifest) for name, manifest in sample_manifests(Conventions()).items()),
    )


def _section(name: str, manifest: Mapping[str, Any]) -> str:
    return f"## {name}\n\n```yaml\n{to_yaml(dict(manifest))}```"
