"""A Sphinx extension: mermaid diagrams become SVG when the site is built.

They are drawn by mermaid itself in an embedded engine, so a reader needs neither a network nor
scripts.
"""

from typing import Any

import mermaidx
from docutils import nodes
from docutils.parsers.rst import Directive


class Mermaid(Directive):
    """A diagram; its source stands in the page as a fenced block, which GitHub draws too."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture of the diagram."""
        source = "\n".join(self.content)
        try:
            svg = mermaidx.render(source).svg()
        except RuntimeError as error:
            raise self.error(f"mermaid: {error}") from error
        figure = f'<figure class="diagram">{svg}</figure>'
        return [nodes.raw("", figure, format="html")]


def setup(app: Any) -> dict[str, bool]:
    """Set up the extension; Sphinx calls this."""
    app.add_directive("mermaid", Mermaid)
    return {"parallel_read_safe": True}
