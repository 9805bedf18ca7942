"""Bodies in YAML to JSON, read as Kubernetes reads them: YAML 1.1 of sigs.k8s.io/yaml.

``y``, ``yes`` and ``on`` are true, ``010`` is 8, keys are text whatever they look like. Unlike in
Kubernetes, a duplicate key, a second document and tags other than those of JSON's types are
refused: nobody writes them on purpose. Aliases are bounded by what they expand to (CVE-2019-11253).
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import msgspec
import yaml

from lnamespace.translate.protocol.yaml_scalars import (
    check_tag,
    key_text,
    line_of,
    resolve_scalar,
    yaml_refused,
)

MAX_NODES: Final = 100_000
"""How many values, keys and aliases one body may have."""
MAX_DEPTH: Final = 200
MAX_ALIASED: Final = 1 << 20
"""How many values and characters all aliases together may repeat."""
MAX_TAG_DIRECTIVES: Final = 10
"""How many lines may begin with ``%TAG``: none of a mapping does, whose texts are indented."""
_TAG_DIRECTIVE: Final = re.compile("(?:\\A|[\r\n\x85\u2028\u2029])\ufeff?%TAG")
_UTF_16: Final = (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)
_LINE_BREAKS: Final = tuple(
    (each.encode(), rb"\u%04x" % ord(each)) for each in ("\x85", "\u2028", "\u2029")
)
"""Characters of texts in JSON that end a line in YAML, with their escapes in both."""

_MERGE: Final = "<<"


def to_json(body: bytes) -> bytes:
    """Return the JSON of a body in YAML; one that is JSON already stays as it is.

    Raises
    ------
    Refused
        With 400, in Kubernetes' words, if the body is no YAML or more than is sensible.
    """
    if body.lstrip()[:1] == b"{" and _is_json(body):
        return body
    try:
        _check_directives(body)
        document = _compose(yaml.parse(body, Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        raise yaml_refused(_problem(error)) from error
    return msgspec.json.encode(document)


def json_for_yaml(body: bytes) -> bytes:
    """Return JSON in which readers of YAML find the same texts, with its line breaks escaped.

    YAML has three more characters that end a line, and folds lines in quotes: a comment in an
    expression, which ended with the text for readers of JSON, ended before.
    """
    for character, escape in _LINE_BREAKS:
        body = body.replace(character, escape)
    return body


def _check_directives(body: bytes) -> None:
    """Refuse many ``%TAG`` directives, which name tags that no body in JSON has.

    The parser compares each with all before it, in 20 seconds for 640 KB.
    """
    if b"%" not in body:
        return
    text = body.decode("utf-16" if body.startswith(_UTF_16) else "utf-8", "replace")
    if next(islice(_TAG_DIRECTIVE.finditer(text), MAX_TAG_DIRECTIVES, None), None):
        raise yaml_refused(f"document has more than {MAX_TAG_DIRECTIVES} %TAG directives")


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _problem(error: yaml.YAMLError) -> str:
    """Return the error in the words of Kubernetes' reader, whose parser counts lines from 0."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(getattr(error, "reason", error))
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"{f'line {line}: ' if line else ''}{error.problem or 'unknown problem'}"


@dataclass
class OpenNode:
    """A list or mapping whose end has not come yet.

    Parameters
    ----------
    key
        The key whose value comes next; None if a key comes next.
    keys
        The keys that the mapping itself has, without those that it was merged with.
    anchor
        Its name for aliases, if it has one.
    weight
        How many values and characters were read before it began.
    """

    value: Any
    anchor: str | None
    weight: int
    key: str | None = None
    keys: set[str] = field(default_factory=set)
    merging: bool = False

    @property
    def awaits_key(self) -> bool:
        """Return whether the next value is a key."""
        return isinstance(self.value, dict) and self.key is None and not self.merging

    def put(self, value: Any) -> None:
        """Take a value: into the list, or for the key that was read last."""
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.merging:
            self.merging = False
            self._merge(value)
        else:
            self.value[self.key] = value
            self.key = None

    def _merge(self, value: Any) -> None:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise yaml_refused("map merge requires map or sequence of maps as the value")
        for source in reversed(sources):
            self.value |= source


@dataclass
class YamlComposer:
    """A builder of one document from events, without recursion.

    Parameters
    ----------
    anchors
        What has a name, and how many values and characters it is; None while it is open.
    weight
        How many values and characters were read.
    """

    root: Any = None
    stack: list[OpenNode] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int] | None] = field(default_factory=dict)
    weight: int = 0
    nodes: int = 0
    aliased: int = 0

    def scalar(self, event: yaml.ScalarEvent) -> None:
        """Take a scalar: a key or a value."""
        self._count(len(event.value))
        node = self.stack[-1] if self.stack else None
        if node is not None and node.awaits_key:
            self._key(node, event)
            return
        value = resolve_scalar(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1 + len(event.value))
        self._put(value)

    def begin(self, value: Any, event: yaml.CollectionStartEvent) -> None:
        """Open a list or a mapping."""
        check_tag(event.tag, "seq" if isinstance(value, list) else "map")
        self._count(0)
        if self.stack and self.stack[-1].awaits_key:
            raise yaml_refused(f"{line_of(event)}invalid map key")
        if len(self.stack) >= MAX_DEPTH:
            raise yaml_refused(f"exceeded max depth of {MAX_DEPTH}")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(OpenNode(value, event.anchor, self.weight))

    def end(self) -> None:
        """Close the list or mapping that was opened last."""
        node = self.stack.pop()
        if node.anchor is not None:
            self.anchors[node.anchor] = (node.value, 1 + self.weight - node.weight)
        self._put(node.value)

    def alias(self, event: yaml.AliasEvent) -> None:
        """Add a copy of the value that an alias names."""
        if event.anchor not in self.anchors:
            raise yaml_refused(f"unknown anchor '{event.anchor}' referenced")
        target = self.anchors[event.anchor]
        if target is None:
            raise yaml_refused(f"anchor '{event.anchor}' value contains itself")
        if self.stack and self.stack[-1].awaits_key:
            raise yaml_refused(f"{line_of(event)}invalid map key")
        value, weight = target
        self._count(weight - 1)
        self.aliased += weight
        if self.aliased > MAX_ALIASED:
            raise yaml_refused("document contains excessive aliasing")
        self._put(value)

    def _count(self, characters: int) -> None:
        self.weight += 1 + characters
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise yaml_refused(f"document has more than {MAX_NODES} nodes")

    def _put(self, value: Any) -> None:
        if self.stack:
            self.stack[-1].put(value)
        else:
            self.root = value

    def _key(self, node: OpenNode, event: yaml.ScalarEvent) -> None:
        if event.value == _MERGE and event.implicit[0]:
            node.merging = True
            return
        key = key_text(event)
        if key in node.keys:
            problem = f'{line_of(event)}key "{key}" already set in map'
            raise yaml_refused(f"unmarshal errors:\n  {problem}")
        node.keys.add(key)
        node.key = key


def _compose(events: Iterable[yaml.Event]) -> Any:
    """Return the only document of a stream."""
    composer = YamlComposer()
    documents = 0
    for event in events:
        match event:
            case yaml.DocumentStartEvent():
                documents += 1
            case yaml.ScalarEvent(value="", implicit=(True, _)) if documents == 2:
                pass  # nothing stands after the separator; 3 MB of separators took ten seconds
            case yaml.NodeEvent() if documents > 1:
                raise yaml_refused("more than one document in the body")
            case yaml.ScalarEvent():
                composer.scalar(event)
            case yaml.AliasEvent():
                composer.alias(event)
            case yaml.MappingStartEvent():
                composer.begin({}, event)
            case yaml.SequenceStartEvent():
                composer.begin([], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                composer.end()
    return composer.root
