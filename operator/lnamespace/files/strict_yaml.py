"""YAML decoded into a type, with errors that name the line and say what to write instead.

A number is refused where text is expected: YAML reads ``0711`` as 457 and ``1e3`` as 1000. A key
that is given twice is refused too: PyYAML takes the second and says nothing.
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


class StrictYamlError(Exception):
    """The content cannot be decoded; the message has the line and the field."""


@dataclass(frozen=True)
class YamlPosition:
    """A position in a file: ``source`` is the file's name, ``node`` the value's YAML node."""

    source: str
    node: yaml.Node | None = None

    def message(self, path: str, message: str) -> str:
        """Return a message with the line of the field at ``path``, such as ``entries[0].user``."""
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
class ErrorHints:
    """The suggestions of error messages: similar keys to an unknown one, and an enum's choices."""

    keys: Collection[str] = ()
    choices: type[StrEnum] | None = None


def read(content: bytes, source: str, type_: type[T], hints: ErrorHints) -> tuple[T, YamlPosition]:
    """Decode content into a value of a type; empty content is an empty mapping.

    Returns
    -------
    T
        The value.
    YamlPosition
        The position of its root, for messages about what is wrong with it.

    Raises
    ------
    StrictYamlError
        The content is not YAML, or not of the type.
    """
    position = YamlPosition(source)
    try:
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        position = YamlPosition(source, node)
        _check_keys(node)
        value = {} if node is None else loader.construct_document(node)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise StrictYamlError(_parse_error_message(error, source)) from error
    return convert(value, type_, position, hints), position


def convert(
    value: object, type_: type[T], position: YamlPosition, hints: ErrorHints, path: str = ""
) -> T:
    """Convert the part of a document at ``path`` into a value of a type.

    Raises
    ------
    StrictYamlError
        The part is not of the type.
    """
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        message, _, inner = str(error).partition(" - at `")
        steps = (path, inner.replace("[...]", "").strip("`$."))
        where = ".".join(filter(None, steps))
        raise StrictYamlError(position.message(where, _plain_message(message, hints))) from error


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


def _parse_error_message(error: Exception, source: str) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"{source}:{mark.line + 1}:{mark.column + 1}: {error.problem}"
    return f"{source}: not YAML: {error}"


def _plain_message(message: str, hints: ErrorHints) -> str:
    """Turn msgspec's message about a value into one that says what to write."""
    if message.startswith("Expected `str`, got `null`"):
        return 'must be text; leave the line out, or write ""'
    if message.startswith("Expected `str`, got"):
        return 'must be text: put it in quotes, such as "4711"'
    if message.startswith(("Expected `object`", "Expected `array`")):
        wanted = "a list" if "`array`," in message else "a mapping"
        return f"must be {wanted}"
    if message.startswith("Invalid enum value") and hints.choices:
        return f"must be {' or '.join(hints.choices)}"
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL):
        # A key of another level is no hint: "group", did you mean group?
        known = [key for key in hints.keys if key != unknown[1]]
        near = get_close_matches(unknown[1], known, 1, 0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f'unknown field "{unknown[1][:100]}"{hint}'
    return message.replace("`", "")
