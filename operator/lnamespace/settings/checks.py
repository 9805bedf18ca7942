"""Checks of the values of options."""

import re

import msgspec

from lnamespace.errors import OptionError

_SUFFIX_MAX_LENGTH = 52
"""The managed-by label contains the suffix, and a label has 63 characters."""

_CHOICES = {
    "sudo_layout": ("group", "serviceaccount"),
    "ledger_manage": ("CreateAndExtend", "Never"),
    "gateway_mine": ("yes", "no"),
    "gateway_volume_marks": ("yes", "no"),
    "lclusters": ("yes", "no"),
    "log_format": ("text", "json"),
    "log_level": ("debug", "info", "warning", "error"),
}

_LIMITS = frozenset(
    {
        "limit_per_requester",
        "lcluster_limit_per_requester",
        "lcluster_namespaces",
        "lcluster_definitions",
        "lcluster_admission",
        "lcluster_cluster_role_bindings",
    }
)
"""The options of which 0 is no limit."""

REFERENCES = (
    "lease",
    "gateway_signer_secret",
    "gateway_pod_service",
    "gateway_ca_config_map",
    "gateway_service",
)
"""The options that name an object, as NAMESPACE/NAME."""

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def flag_of(name: str) -> str:
    """Return the flag of an option."""
    return "--" + name.replace("_", "-")


def items(text: str) -> tuple[str, ...]:
    """Split the value of an option that lists items, separated by commas."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def choices(name: str) -> tuple[str, ...]:
    """Return the values of an option that has a few; of any other one, none."""
    return _CHOICES.get(name, ())


def check_choice(name: str, value: object) -> None:
    """Refuse another value of an option than the few that it has."""
    words = choices(name)
    if words and value not in words:
        *others, last = words
        raise OptionError(f"{flag_of(name)} must be {', '.join(others)} or {last}")


def check_number(name: str, value: int, default: int) -> None:
    """Refuse a number that is too small."""
    least = 0 if name in _LIMITS else min(default, 1)
    if value < least:
        raise OptionError(f"{flag_of(name)} must be at least {least}")


def check_suffix(suffix: str) -> None:
    """Refuse a suffix that cannot be part of an API group and of a label."""
    if len(suffix) > _SUFFIX_MAX_LENGTH or not re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", suffix):
        raise OptionError(
            "--api-group-suffix must be a DNS name of at most "
            f"{_SUFFIX_MAX_LENGTH} characters, such as example.com"
        )


def check_class(name: str) -> None:
    """Refuse a class that no LNamespace can name."""
    if not re.fullmatch(rf"({_LABEL})?", name) or len(name) > 63:
        raise OptionError("--class-name must be a DNS label of at most 63 characters")


def check_group_format(text: str) -> None:
    """Refuse a format of groups that could make one of Kubernetes' own."""
    if not text:
        return
    before, found, _ = text.partition("{name}")
    if not found:
        raise OptionError("--sudoers-group-format must contain {name}")
    if "system:".startswith(before) and ":" in text:
        raise OptionError("--sudoers-group-format must not be able to make a system: group")
    if before.startswith("system:"):
        raise OptionError("--sudoers-group-format must not start with system:")


def check_reference(name: str, value: str) -> None:
    """Refuse the name of an object that does not say its namespace."""
    if value and not re.fullmatch(r"[^/]+/[^/]+", value):
        raise OptionError(f"{flag_of(name)} must be NAMESPACE/NAME")


def check_limits(name: str, text: str) -> None:
    """Refuse limits that are below 0."""
    if any(limit < 0 for limit in parse_limits(name, text).values()):
        raise OptionError(f"{flag_of(name)} must be numbers of at least 0")


def parse_limits(name: str, text: str) -> dict[str, int]:
    """Return the numbers by user name that an option has.

    Raises
    ------
    OptionError
        The option is not JSON, or not a mapping from text to numbers.
    """
    try:
        return msgspec.json.decode(text, type=dict[str, int])
    except msgspec.DecodeError as error:
        raise OptionError(
            f'{flag_of(name)} must be JSON such as {{"ci-bot": 100}}: {error}'
        ) from error
