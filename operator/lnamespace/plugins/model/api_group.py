"""The API group that LNamespaces are in; a second instance on the same cluster has its own."""

from __future__ import annotations

import os

from lnamespace.plugins.runtime.errors import PluginError

# The environment variable that chooses one of several instances.
SUFFIX_VARIABLE = "LNAMESPACE_API_GROUP_SUFFIX"
DEFAULT_SUFFIX = "loblaw.digital"
GROUP_PREFIX = "tenancy."
VERSION = "v1beta1"
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def suffix() -> str:
    """Return the suffix of the API group of the chosen instance.

    Raises
    ------
    PluginError
        When the variable has something else than a DNS name.

    """
    chosen = os.environ.get(SUFFIX_VARIABLE)
    if chosen and not all(map(_is_label, chosen.split("."))):
        raise PluginError(
            f"{SUFFIX_VARIABLE} is no DNS name of small letters, such as {DEFAULT_SUFFIX}: "
            f'"{chosen}"',
            exit_code=2,
        )
    return chosen or DEFAULT_SUFFIX


def _is_label(text: str) -> bool:
    return 0 < len(text) < 64 and text.strip("-") == text and set(text) <= LETTERS


def group() -> str:
    """Return the API group LNamespaces are in."""
    return GROUP_PREFIX + suffix()


def api_version() -> str:
    """Return the API group with its version, as in the ``apiVersion`` of an object."""
    return f"{group()}/{VERSION}"


def policy_prefix() -> str:
    """Return the prefix of the names of this instance's admission policies, as in the chart."""
    ours = suffix()
    return "lnamespace-" if ours == DEFAULT_SUFFIX else f"lnamespace.{ours}-"


def advised(command: str) -> str:
    """Return one of our own commands as advice, which works for this instance when pasted."""
    ours = suffix()
    return command if ours == DEFAULT_SUFFIX else f"{SUFFIX_VARIABLE}={ours} {command}"
