"""Whole results as files that people review: `LNAMESPACE_GOLDEN=write` writes them anew."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import yaml
from lnamespace.kube.state import DesiredObject

FOLDER = Path(__file__).resolve().parents[1] / "golden"


def check(name: str, objects: Iterable[DesiredObject]) -> None:
    """Check that the objects, in the order in which they are made, are as the file says."""
    manifests = [json.loads(json.dumps(wanted.object.manifest())) for wanted in objects]
    path = FOLDER / f"{name}.yaml"
    if os.environ.get("LNAMESPACE_GOLDEN") == "write":
        path.write_text(
            yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True, width=100)
        )
    assert list(yaml.safe_load_all(path.read_text())) == manifests
