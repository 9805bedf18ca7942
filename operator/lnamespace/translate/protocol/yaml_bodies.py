"""Bodies in YAML to JSON, read as Kubernetes reads them: YAML 1.1 of sigs.k8s.io/yaml.

``y``, ``yes`` and ``on`` are true, ``010`` is 8, keys are text whatever they look like. Stricter
than Kubernetes in what nobody means: a key that is there twice, a second document and tags other
than those of JSON's types are refused. Aliases are bounded by what they expand to (CVE-2019-11253).
"""

import codecs
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any, Final

import msgspec
import yaml

from lnamespace.translate.protocol.status import Refused, bad_request

MAX_NODES: Final = 100_000
"""How many values, keys and aliases one body may have."""
MAX_DEPTH: Final = 200
MAX_ALIASED: Final = 1 << 20
"""How many values and characters all aliases together may repeat."""
MAX_TAG_DIRECTIVES: Final = 10
"""How many lines may begin with ``%TAG``: none of a mapping does, whose texts are indented."""
_TAG_DIRECTIVE: Final = re.compile("(?:\\A|[\r\n\x85\u2028\u2029])\ufeff?%TAG")
_UTF_16: Final = (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)

MERGE: Final = "<<"
TAG_PREFIX: Final = "tag:yaml.org,2002:"
JSON_TAGS: Final = frozenset({"bool", "float", "int", "null"})
_HINTS: Final = frozenset("+-.0123456789yYnNtTfFoO~")
_SPELLINGS: Final = {
    True: "y Y yes Yes YES true True TRUE on On ON",
    False: "n N no No NO false False FALSE off Off OFF",
    None: "~ null Null NULL",
}
_WORDS: Final[dict[str, bool | None]] = {
    "": None,
    **{text: value for value, texts in _SPELLINGS.items() for text in texts.split()},
}
_UNWRITABLE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER: Final = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PLAIN_FLOAT_KEY: Final = re.compile(r"-?(0|[1-9][0-9]{0,3})\.[0-9]{0,2}[1-9]")

Scalar = str | int | bool | msgspec.Raw | None


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
        raise _refused(_problem(error)) from error
    return msgspec.json.encode(document)


def _check_directives(body: bytes) -> None:
    """Refuse many ``%TAG`` directives, which name tags that no body in JSON has.

    The parser compares each with all before it, in 20 seconds for 640 KB.
    """
    if b"%" not in body:
        return
    text = body.decode("utf-16" if body.startswith(_UTF_16) else "utf-8", "replace")
    if next(islice(_TAG_DIRECTIVE.finditer(text), MAX_TAG_DIRECTIVES, None), None):
        raise _refused(f"document has more than {MAX_TAG_DIRECTIVES} %TAG directives")


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _refused(problem: str) -> Refused:
    return bad_request(f"error converting YAML to JSON: yaml: {problem}")


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
            raise _refused("map merge requires map or sequence of maps as the value")
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
        value = _resolve(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1 + len(event.value))
        self._put(value)

    def begin(self, value: Any, event: yaml.CollectionStartEvent) -> None:
        """Open a list or a mapping."""
        _check_tag(event.tag, "seq" if isinstance(value, list) else "map")
        self._count(0)
        if self.stack and self.stack[-1].awaits_key:
            raise _refused(f"{_line(event)}invalid map key")
        if len(self.stack) >= MAX_DEPTH:
            raise _refused(f"exceeded max depth of {MAX_DEPTH}")
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
        """Take what an alias names, once more."""
        if event.anchor not in self.anchors:
            raise _refused(f"unknown anchor '{event.anchor}' referenced")
        target = self.anchors[event.anchor]
        if target is None:
            raise _refused(f"anchor '{event.anchor}' value contains itself")
        if self.stack and self.stack[-1].awaits_key:
            raise _refused(f"{_line(event)}invalid map key")
        value, weight = target
        self._count(weight - 1)
        self.aliased += weight
        if self.aliased > MAX_ALIASED:
            raise _refused("document contains excessive aliasing")
        self._put(value)

    def _count(self, characters: int) -> None:
        self.weight += 1 + characters
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _refused(f"document has more than {MAX_NODES} nodes")

    def _put(self, value: Any) -> None:
        if self.stack:
            self.stack[-1].put(value)
        else:
            self.root = value

    def _key(self, node: OpenNode, event: yaml.ScalarEvent) -> None:
        if event.value == MERGE and event.implicit[0]:
            node.merging = True
            return
        key = _key_text(event)
        if key in node.keys:
            raise _refused(f'unmarshal errors:\n  {_line(event)}key "{key}" already set in map')
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
                raise _refused("more than one document in the body")
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


def _line(event: yaml.Event) -> str:
    mark = event.start_mark
    return f"line {mark.line + 1}: " if mark else ""


def _check_tag(tag: str | None, expected: str) -> None:
    if tag not in {None, "!", TAG_PREFIX + expected}:
        raise _refused(f"the tag {tag} is not supported")


def _resolve(event: yaml.ScalarEvent) -> Scalar:
    """Return the value of a scalar by its tag, its quotes and its text."""
    tag, text = event.tag, event.value
    if tag is None:
        return _plain(text) if event.implicit[0] else text
    if tag in {"!", f"{TAG_PREFIX}str"}:
        return text
    kind = tag.removeprefix(TAG_PREFIX)
    if kind not in JSON_TAGS:
        raise _refused(f"{_line(event)}the tag {tag} is not supported")
    value = _plain(text)
    found = _tag_of(value)
    if found != kind and (found, kind) != ("int", "float"):
        raise _refused(f"cannot decode !!{found} `{text}` as a !!{kind}")
    return value


def _tag_of(value: Scalar) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case msgspec.Raw():
            return "float"
    return "str"


def _plain(text: str) -> Scalar:
    """Return the value of text without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in _HINTS:
        return text
    if _UNWRITABLE.fullmatch(text):
        raise bad_request(f"error converting YAML to JSON: json: unsupported value: {text}")
    return _number(text)


def _number(text: str) -> Scalar:
    """Return the number that text means, or the text."""
    digits = text if text[0] == "." else text.replace("_", "")
    if match := _INTEGER.fullmatch(digits):
        value = _integer(*match.groups())
        if -(1 << 63) <= value < (1 << 63) or (not match[1] and value < 1 << 64):
            return value
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if math.isfinite(number):
            return _json_float(number)
    return text


def _integer(sign: str, digits: str) -> int:
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2].lower())
    if base is None:
        base = 8 if digits[0] == "0" and len(digits) > 1 else 10
    if base == 10 and len(digits) > 20:
        return 1 << 64  # too long for 64 bits, whatever it is
    return int(digits, base) * (-1 if sign == "-" else 1)


def _json_float(number: float) -> msgspec.Raw:
    """Return a number as Go's JSON has it: 1e3 is 1000, which an integer field takes."""
    if number and not 1e-6 <= abs(number) < 1e21:
        return msgspec.Raw(repr(number).encode())
    text = format(Decimal(repr(number)), "f")
    return msgspec.Raw((text.removesuffix(".0")).encode())


def _key_text(event: yaml.ScalarEvent) -> str:
    """Return a key as text: keys may look like numbers or booleans."""
    value = _resolve(event)
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case msgspec.Raw() if _PLAIN_FLOAT_KEY.fullmatch(event.value):
            return str(event.value)
    raise _refused(f"{_line(event)}unsupported map key {event.value!r}: put it into quotes")
