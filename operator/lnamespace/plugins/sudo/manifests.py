"""Which namespaces the manifests of a command's files are for: just enough YAML to find that.

It steers nothing but which LNamespace's sudoers one acts as, as `-n` does; the file is kubectl's
to read. What cannot be read here, such as a flow mapping over several lines, names no namespace,
and then the command line or the context has to.
"""

from __future__ import annotations

import json
import os
import re

from lnamespace.plugins.runtime.errors import KubectlError
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO, Any

MANIFEST_BYTES = 4 * 2**20  # bytes of a file that are read for its namespace
DOCUMENTS = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
PAIR = re.compile(
    r"""(?P<indent>\s*)(?P<quote>["']?)(?P<key>[A-Za-z]+)(?P=quote)\s*:(?P<value>.*)"""
)
IN_BRACES = re.compile(
    r"""[{,]\s*["']?(name|namespace)["']?\s*:\s*["']?([a-z0-9.-]+)["']?\s*(?=[,}])"""
)
WORD = re.compile(r"[A-Za-z0-9.-]+")
THEMSELVES = ("LNamespace", "Namespace")  # kinds of objects that are, or become, a namespace


def namespaces_of(files: Sequence[str]) -> list[str]:
    """Return the namespaces that the arguments of -f are for, in order of their names."""
    paths = [path for file in files for path in _paths(file)]
    return sorted(set().union(*(namespaces(_content(path)) for path in paths)))


def misread(files: Sequence[str]) -> str:
    """Return which of the files is JSON that cannot be read, and why; empty if none is."""
    for path in (path for file in files for path in _paths(file)):
        text = _content(path)
        try:
            if text.lstrip().startswith("{"):
                json.loads(text)
        except (ValueError, RecursionError) as error:
            name = "standard input" if path == "-" else path
            return f"{name} cannot be read as JSON ({error})"
    return ""


def _paths(file: str) -> list[str]:
    """Return the files that an argument of -f means, or raise what kubectl says of them.

    kubectl reports it only when it runs, and before that we need the namespace from the file.
    """
    if file == "-" or file.startswith(("http://", "https://")):
        return [file]
    try:
        os.stat(file)  # noqa: PTH116 - pathlib is slow to load
    except FileNotFoundError:
        from glob import glob

        if matches := glob(file):  # noqa: PTH207 - as above
            return sorted(matches)
        raise KubectlError(f'error: the path "{file}" does not exist') from None
    except OSError as error:
        why = f"stat {file}: {(error.strerror or '').lower()}"
        raise KubectlError(f'error: the path "{file}" cannot be accessed: {why}') from None
    return [file]


def _content(file: str) -> str:
    """Return the content of a file, as far as it can be read before kubectl reads it.

    Standard input is kept in a file without a name, for kubectl to read it from the start again. A
    folder and an address name no namespace.
    """
    if file == "-":
        return _standard_input()
    try:
        if not os.path.isfile(file):  # noqa: PTH113 - pathlib is slow to load
            return ""
        with open(file, "rb") as opened:  # noqa: PTH123 - as above
            return _start(opened)
    except OSError as error:
        raise KubectlError(f"error: open {file}: {(error.strerror or '').lower()}") from None


def _standard_input() -> str:
    try:
        if os.isatty(0):
            return ""
        os.dup2(_kept_input(), 0)
        with open(0, "rb", closefd=False) as kept:
            return _start(kept)
    except OSError:  # kubectl cannot read it either, and says so
        return ""


def _start(file: IO[bytes]) -> str:
    text = file.read(MANIFEST_BYTES).decode("utf-8", "replace")
    file.seek(0)
    return text


def _kept_input() -> int:
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        while data := os.read(0, 65536):
            file.write(data)
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


def namespaces(text: str) -> set[str]:
    """Return the namespaces that the objects of a text name; empty where they name none."""
    return set(filter(None, map(_namespace, _objects(text))))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    try:
        yield from _items(json.loads(text))
    except (ValueError, RecursionError):
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
    """Return a plain or quoted word; empty for an anchor, an alias, a tag or a block."""
    word = re.sub(r"\s+#.*$", "", value).strip("\"' ")
    return word if WORD.fullmatch(word) else ""
