"""Every option once: its flag, its environment variable, its default and its meaning.

An option ``users_role`` is the flag ``--users-role`` and the variable ``LNAMESPACE_USERS_ROLE``;
the flag wins.
"""

import argparse
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lnamespace.errors import SettingsError

_SUFFIX_MAX_LENGTH = 52
"""So that the managed-by label, which carries the suffix, stays within 63 characters."""


def _option(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Settings:
    """How one instance runs."""

    api_group_suffix: str = _option(
        "loblaw.digital", "The API group is `tenancy.` and this; another instance has another."
    )
    users_role: str = _option("admin", "The ClusterRole that users have in their namespace.")
    sudoers_group_format: str = _option(
        "{name}-sudoers",
        "The group that sudoers impersonate. No identity provider may hand out such groups.",
    )
    reserved_names: str = _option(
        "", "Further names that no tenant may have: shell patterns, separated by commas."
    )
    workers: int = _option(16, "How many LNamespaces are worked on at a time.")
    concurrency: int = _option(32, "How many writes are under way at a time, over all workers.")
    resync_seconds: int = _option(600, "How often everything is compared, without any request.")
    liveness_endpoint: str = _option(
        "", "Where to answer liveness probes, such as http://0.0.0.0:8080/healthz; empty: nowhere."
    )
    log_format: str = _option("text", "text or json.")
    log_level: str = _option("info", "debug, info, warning or error.")
    kubeconfig: str = _option("", "Path of a kubeconfig; empty: as kubectl, or the pod's own.")
    context: str = _option("", "The context of the kubeconfig; empty: its current one.")

    def __post_init__(self) -> None:
        self._check_suffix()
        self._check_group_format()
        if not self.users_role:
            raise SettingsError("--users-role must name a ClusterRole")
        for name in ("workers", "concurrency", "resync_seconds"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{_flag(name)} must be at least 1")
        if self.log_format not in ("text", "json"):
            raise SettingsError("--log-format must be text or json")
        if self.log_level not in ("debug", "info", "warning", "error"):
            raise SettingsError("--log-level must be debug, info, warning or error")

    def _check_suffix(self) -> None:
        label = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
        suffix = self.api_group_suffix
        if len(suffix) > _SUFFIX_MAX_LENGTH or not re.fullmatch(rf"{label}(\.{label})*", suffix):
            raise SettingsError(
                "--api-group-suffix must be a DNS name of at most "
                f"{_SUFFIX_MAX_LENGTH} characters, such as example.com"
            )

    def _check_group_format(self) -> None:
        before, found, _ = self.sudoers_group_format.partition("{name}")
        if not found:
            raise SettingsError("--sudoers-group-format must contain {name}")
        if "system:".startswith(before) and ":" in self.sudoers_group_format:
            raise SettingsError("--sudoers-group-format must not be able to make a system: group")
        if before.startswith("system:"):
            raise SettingsError("--sudoers-group-format must not start with system:")

    @property
    def reserved(self) -> tuple[str, ...]:
        """The further reserved names, one pattern each."""
        return tuple(p.strip() for p in self.reserved_names.split(",") if p.strip())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser a flag for every option."""
    for option in dataclasses.fields(Settings):
        parser.add_argument(
            _flag(option.name),
            type=_type(option),
            metavar=_type(option).__name__.upper(),
            default=argparse.SUPPRESS,
            help=f"{option.metadata['meaning']} [{_variable(option.name)}; {option.default!r}]",
        )


def load(arguments: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings from parsed flags, then the environment, then the defaults.

    Raises
    ------
    SettingsError
        A value that cannot work; the message names the option.
    """
    values: dict[str, Any] = {}
    for option in dataclasses.fields(Settings):
        if hasattr(arguments, option.name):
            values[option.name] = getattr(arguments, option.name)
        elif _variable(option.name) in environment:
            values[option.name] = _parse(option, environment[_variable(option.name)])
    return Settings(**values)


def _parse(option: "dataclasses.Field[Any]", text: str) -> Any:
    try:
        return _type(option)(text)
    except ValueError as error:
        raise SettingsError(f"{_variable(option.name)}: not a number: {text!r}") from error


def _type(option: "dataclasses.Field[Any]") -> type[str] | type[int]:
    return int if isinstance(option.default, int) else str


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _variable(name: str) -> str:
    return "LNAMESPACE_" + name.upper()


def documented() -> Sequence[tuple[str, str, str, str]]:
    """Flag, variable, default and meaning of every option, for the reference."""
    return [
        (_flag(o.name), _variable(o.name), str(o.default), str(o.metadata["meaning"]))
        for o in dataclasses.fields(Settings)
    ]
