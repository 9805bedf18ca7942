"""What our processes say of themselves on their health ports."""

import re
import urllib.request
from typing import Protocol
from urllib.error import HTTPError

_LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Probed(Protocol):
    """A process with a health port."""

    health: int


def probe(process: Probed, path: str) -> tuple[int, str]:
    """Return the answer to a probe: its code and its text."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{process.health}{path}", timeout=60) as it:
            return it.status, it.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def metric(process: Probed, name: str, **labels: str) -> float:
    """Return the sum of a metric over all its series that have these labels."""
    found = 0.0
    for series, text, value in _LINE.findall(probe(process, "/metrics")[1]):
        if series == name and labels.items() <= dict(_LABEL.findall(text)).items():
            found += float(value)
    return found
