"""YAML that people write, read into a type, and refused with the line and what to write instead.

Numbers are refused where text belongs: YAML reads ``0711`` as 457 and ``1e3`` as 1000. A key that
is given twice is refused too, of which YAML takes the second without a word.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

import msgspec
import yaml

T = TypeVar("T")


class YamlProblem(Exception):
    """What is wrong with the content; the message has the line and the field."""


@dataclass(frozen=True)
class Place:
    """Where in which file: ``source`` is its name, ``node`` what it is as YAML."""

    source: str
    node: yaml.Node | None = None

    def of(self, path: str, message: str) -> str:
        """The message with the line of a field, such as ``entries[0].billing``."""
        node = self.node
        for step in re.findall(r"[\w-]+", path):
            if isinstance(node, yaml.MappingNode):
                found = [value for key, value in node.value if key.value == step]
                node = found[0] if found else node
            elif isinstance(node, yaml.SequenceNode) and step.isdigit():
                node = node.value[int(step)]
        line = f":{node.start_mark.line + 1}" if node else ""
        return f"{self.source}{line}: {f'{path}: ' if path else ''}{message}"


@dataclass(frozen=True)
class Words:
    """What is spoken of: ``keys`` that may be meant by one that is not known, and an enum."""

    keys: Collection[str] = ()
    choices: type[StrEnum] | None = None


def read(content: bytes, source: str, type_: type[T], words: Words) -> tuple[T, Place]:
    """The content as a value of the type; empty content is an empty mapping.

    Raises
    ------
    YamlProblem
        It cannot be read as that.
    """
    place = Place(source)
    try:
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        place = Place(source, node)
        _check_keys(node)
        value = {} if node is None else loader.construct_document(node)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise YamlProblem(_as_yaml_says(error, source)) from error
    return convert(value, type_, place, words), place


def convert(value: object, type_: type[T], place: Place, words: Words, path: str = "") -> T:
    """A part of the content, which stands at the path, as a value of a type.

    Raises
    ------
    YamlProblem
        It is none.
    """
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        message, _, inner = str(error).partition(" - at `")
        steps = (path, inner.replace("[...]", "").strip("`$."))
        where = ".".join(filter(None, steps))
        raise YamlProblem(place.of(where, _plainly(message, words))) from error


def _check_keys(node: yaml.Node | None) -> None:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_keys(item)
    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(problem="a key must be text", problem_mark=key.start_mark)
        if key.value in seen:
            raise yaml.MarkedYAMLError(
                problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
            )
        seen.add(key.value)
        _check_keys(value)


def _as_yaml_says(error: Exception, source: str) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"{source}:{mark.line + 1}:{mark.column + 1}: {error.problem}"
    return f"{source}: not YAML: {error}"


def _plainly(message: str, words: Words) -> str:
    """What msgspec says of a value, as what to write."""
    if message.startswith("Expected `str`, got `null`"):
        return 'must be text; leave the line out, or write ""'
    if message.startswith("Expected `str`, got"):
        return 'must be text: put it in quotes, such as "4711"'
    if message.startswith(("Expected `object`", "Expected `array`")):
        wanted = "a list" if "`array`," in message else "a mapping"
        return f"must be {wanted}"
    if message.startswith("Invalid enum value") and words.choices:
        return f"must be {' or '.join(words.choices)}"
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL):
        near = get_close_matches(unknown[1], words.keys, 1, 0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f'unknown field "{unknown[1][:100]}"{hint}'
    return message.replace("`", "")
