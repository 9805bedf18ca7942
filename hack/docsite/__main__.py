"""``python -m docsite FOLDER`` writes the generated pages of the reference."""

import sys
from pathlib import Path

from docsite.pages import pages

if __name__ == "__main__":
    for name, text in pages().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
