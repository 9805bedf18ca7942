"""How an option is defined."""

from dataclasses import field
from typing import Any


def option(default: Any, meaning: str, *commands: str) -> Any:
    """Define an option of some commands, or of all if no command is named."""
    return field(default=default, metadata={"meaning": meaning, "commands": commands})
