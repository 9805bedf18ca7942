"""How Sphinx builds the site: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

project = "LNamespace"
html_title = "LNamespace"
extensions = ["myst_parser", "docsite.mermaid", "docsite.contents"]

# Anchors as GitHub makes them, so that the same links work in both places.
myst_heading_anchors = 5
myst_fence_as_directive = ["mermaid"]
# Text stays as it is typed: no curly quotes, no dashes from --flags.
smartquotes = False
# Shell transcripts are highlighted as such; another text does not fail the build.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
