"""Steps as lines: of a file to be played again, and for people to read."""

import msgspec

from tests.e2e.rights_model.accidents import (
    Elapse,
    Hurry,
    Kill,
    Lose,
    Pause,
    Settle,
    Start,
    Upgrade,
)
from tests.e2e.rights_model.misdeeds import Steal, Tamper
from tests.e2e.rights_model.steps import (
    Clear,
    Create,
    Delete,
    Edit,
    Hold,
    PassOn,
    Protect,
    Release,
    Squat,
)

AnyStep = (
    Create
    | Edit
    | Protect
    | Delete
    | Hold
    | Release
    | PassOn
    | Squat
    | Clear
    | Tamper
    | Steal
    | Kill
    | Pause
    | Lose
    | Start
    | Hurry
    | Upgrade
    | Elapse
    | Settle
)

_decoder = msgspec.json.Decoder(AnyStep)


def to_line(step: AnyStep) -> str:
    """Return a step as a line of a file."""
    return msgspec.json.encode(step).decode()


def from_line(line: str) -> AnyStep:
    """Return a step from a line of a file."""
    step: AnyStep = _decoder.decode(line)
    return step


def renamed(step: AnyStep, prefix: str) -> AnyStep:
    """Return the same step in a play whose names begin otherwise."""
    return msgspec.structs.replace(step, name=f"{prefix}{step.name}") if step.name else step


def described(step: AnyStep) -> str:
    """Return a step as people read it."""
    fields = msgspec.to_builtins(step)
    kind, actor, name = (fields.pop(key, "") for key in ("type", "actor", "name"))
    sudo = "sudo " if fields.pop("sudo", False) else ""
    who = f"{actor}: {sudo}" if actor else ""
    script = _script(fields.pop("script", None))
    rest = [f"{key}={value}" for key, value in fields.items() if value not in ("", False)]
    return " ".join(filter(None, (f"{who}{kind}", name, script, *rest)))


def _script(script: dict[str, list[dict[str, object]]] | None) -> str:
    if script is None:
        return ""
    told = (f"{name}={','.join(map(_line, lines))}" for name, lines in script.items() if lines)
    return f"[{' '.join(told)}]"


def _line(line: dict[str, object]) -> str:
    seconds = line.get("seconds")
    return f"{line['label']}{f' for {seconds} s' if seconds else ''}"
