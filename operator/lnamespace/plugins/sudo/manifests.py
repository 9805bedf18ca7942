"""Read from a command's manifests which namespaces they are for, with just enough YAML.

Like `-n`, this only chooses as which LNamespace's sudoer one acts. What cannot be read here, such
as a flow mapping over several lines, a folder or a kustomization, kubectl reads without a request
to the cluster, and reports which file is broken. A URL is not read: then the command line or the
context has to name the namespace.
"""

from __future__ import annotations

import json
import os
import re

from lnamespace.plugins.cluster.kubectl import Call
from lnamespace.plugins.runtime.errors import KubectlError
from lnamespace.plugins.runtime.processes import Process, executable
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
# To read files by kubectl: what it finds in them. Its own defaults are said, for a kuberc may have
# others.
LOCAL = (
    "--local=true",
    "--overwrite=true",
    "--all=false",
    "--list=false",
    "--selector=",
    "--field-selector=",
    "--dry-run=none",
    "--resource-version=",
    '--output=jsonpath={.kind}{"\\t"}{.metadata.name}{"\\t"}{.metadata.namespace}{"\\n"}',
)
FIELDS = 3  # of an object in that output
THEMSELVES = ("LNamespace", "Namespace")  # kinds of objects that are, or become, a namespace


class Files(NamedTuple):
    """What a command is given to read its objects from, by kubectl's -f, -k and -R."""

    names: tuple[str, ...] = ()
    kustomizations: tuple[str, ...] = ()
    recursive: bool = False


class Contents(NamedTuple):
    """The namespaces that files are for, in order of their names.

    ``problem`` is why kubectl cannot read them, None if it can or was not asked.
    """

    namespaces: tuple[str, ...] = ()
    problem: KubectlError | None = None


def contents(files: Files) -> Contents:
    """Return which namespaces the files of a command are for."""
    paths = [path for file in files.names for path in _paths(file)]
    found = set[str]().union(*(namespaces(_content(path)) for path in paths))
    if found and not files.kustomizations and not any(map(os.path.isdir, paths)):
        return Contents(tuple(sorted(found)))
    read = _read_by_kubectl(files)
    return Contents(tuple(sorted(found.union(read.namespaces))), read.problem)


def _read_by_kubectl(files: Files) -> Contents:
    """Return the namespaces that kubectl finds in the files; `label --local` sends no request."""
    names = [name for name in files.names if not _is_address(name) and not _is_typed(name)]
    given = [f"--filename={name}" for name in names]
    given += [f"--kustomize={folder}" for folder in files.kustomizations]
    if not given:
        return Contents()
    recursive = f"--recursive={'true' if files.recursive else 'false'}"
    command = [executable(), "label", *LOCAL, recursive, *given, "read=here"]
    fed = "-" in names
    reply = Call(Process(command, fed=fed), _whole_input() if fed else b"").reply()
    if reply.code:
        return Contents(problem=reply.failure())
    objects = (line.split("\t") for line in reply.out.splitlines())
    return Contents(tuple(filter(None, (_named(*each) for each in objects if len(each) == FIELDS))))


def _named(kind: str, name: str, namespace: str) -> str:
    return _namespace({"kind": kind, "metadata": {"name": name, "namespace": namespace}})


def _is_address(file: str) -> bool:
    return file.startswith(("http://", "https://"))


def _is_typed(file: str) -> bool:
    """Return whether a file is what somebody will type on the terminal."""
    return file == "-" and os.isatty(0)


def _paths(file: str) -> list[str]:
    """Return the files that an argument of -f means, or raise kubectl's error about them.

    kubectl reports it only when it runs, and before that we need the namespace from the file.
    """
    if file == "-" or _is_address(file):
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

    Standard input is kept in a file without a name, for kubectl to read it from the start again.
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


def _whole_input() -> bytes:
    """Return standard input, which `_standard_input` has kept; kubectl reads it again."""
    with open(0, "rb", closefd=False) as kept:
        data = kept.read()
        kept.seek(0)
        return data


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
