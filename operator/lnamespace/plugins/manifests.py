"""Which namespaces the manifests of a file are for: just enough YAML to find that.

It steers nothing but which LNamespace's sudoers one acts as, as `-n` does; the file is kubectl's
to read. What cannot be read here, such as a flow mapping over several lines, names no namespace,
and then the command line or the context has to.
"""

from __future__ import annotations

import json
import re

from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

DOCUMENTS = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
PAIR = re.compile(
    r"""(?P<indent>\s*)(?P<quote>["']?)(?P<key>[A-Za-z]+)(?P=quote)\s*:(?P<value>.*)"""
)
IN_BRACES = re.compile(
    r"""[{,]\s*["']?(name|namespace)["']?\s*:\s*["']?([a-z0-9.-]+)["']?\s*(?=[,}])"""
)
THEMSELVES = ("LNamespace", "Namespace")  # kinds of objects that are, or become, a namespace


def namespaces(text: str) -> set[str]:
    """Return the namespaces that the objects of a text name; empty where they name none."""
    return set(filter(None, map(_namespace, _objects(text))))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    try:
        yield from _items(json.loads(text))
    except ValueError:
        yield from map(_head, DOCUMENTS.split(text))


def _items(document: Any) -> Iterator[dict[str, Any]]:
    """Return the objects of a JSON document, which may be a List."""
    if isinstance(document, dict):
        items = document.get("items")
        yield from items if isinstance(items, list) else [document]


def _namespace(manifest: Any) -> str:
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    if not isinstance(metadata, dict):
        return ""
    key = "name" if manifest.get("kind") in THEMSELVES else "namespace"
    return str(metadata.get(key) or "")


def _head(document: str) -> dict[str, Any]:
    """Return the kind and the metadata of one YAML document in block style."""
    kind, metadata, within, depth = "", dict[str, str](), False, 0
    for indent, key, value in _pairs(document.splitlines()):
        if not indent:
            within, depth = key == "metadata", 0
            kind = _scalar(value) if key == "kind" else kind
            metadata |= dict(IN_BRACES.findall(value)) if within else {}
        elif within:
            depth = depth or indent
            if indent == depth and key in ("name", "namespace"):
                metadata[key] = _scalar(value)
    return {"kind": kind, "metadata": metadata}


def _pairs(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    for line in lines:
        if found := PAIR.fullmatch(line):
            yield len(found["indent"]), found["key"], found["value"].strip()


def _scalar(value: str) -> str:
    return re.sub(r"\s+#.*$", "", value).strip("\"' ")
