"""The command: set the stage, play the story, check it, take everything down."""

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .console import Console
from .process import StageError
from .script import PEOPLE, Step, story
from .stage import Answer, Stage

DESCRIPTION = """\
Plays the whole story of a namespace, by real users, on a real Kubernetes control plane that it
starts for itself. Shows every command and its output, and checks that it is as told.
"""


@dataclass(frozen=True)
class Failure:
    """A step that did not go as told."""

    number: int
    step: Step
    reason: str


def main() -> int:
    """Return 0 if all went as expected, 1 if not or if it cannot be played, 130 if interrupted."""
    keep = _parser().parse_args().keep
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell ignores it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that cleaning up happens
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    console = Console()
    try:
        with _stage(console, keep=keep) as stage:
            failures = _play(stage, console)
            _sum_up(failures, stage, console)
    except StageError as error:
        console.verdict(str(error), good=False)
        return 1
    except KeyboardInterrupt:
        return 130
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/demo", description=DESCRIPTION)
    parser.add_argument("--keep", action="store_true", help="leave all of it up")
    return parser


@contextmanager
def _stage(console: Console, *, keep: bool) -> Iterator[Stage]:
    """Set up a stage, which is taken down in the end, whatever happens, unless it is kept."""
    _check_tools()
    stage = Stage.new(console.note)
    kept = False
    try:
        stage.set_up(PEOPLE)
        kept = keep
        yield stage
    finally:
        if kept:
            console.text("")
            console.text(stage.how_to_use())
        else:
            with _undisturbed():
                stage.take_down()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep a second Ctrl-C from interrupting the clean-up after the first."""
    before = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_tools() -> None:
    if not shutil.which("bash"):
        raise StageError("bash is not on the PATH; the scripts in hack/ need it")


def _play(stage: Stage, console: Console) -> list[Failure]:
    failures: list[Failure] = []
    number = 0
    for chapter in story():
        console.title(chapter.title)
        for step in chapter.steps:
            number += 1
            reason = _perform(number, step, stage, console)
            if reason:
                failures.append(Failure(number, step, reason))
    return failures


def _perform(number: int, step: Step, stage: Stage, console: Console) -> str:
    """Play one step, and return why it went wrong, or nothing."""
    console.expectation(number, step.expected)
    console.command(step.who, step.command)
    start = time.monotonic()
    answer = stage.run(step.who, step.command)
    while (reason := _judge(step, answer)) and time.monotonic() - start < step.within:
        time.sleep(0.1)
        answer = stage.run(step.who, step.command)
    console.output(answer.text)
    if reason:
        console.not_as_told(reason)
    else:
        console.as_told(time.monotonic() - start)
    return reason


def _judge(step: Step, answer: Answer) -> str:
    if step.refused and answer.code == 0:
        return "it should have been refused"
    if not step.refused and answer.code != 0:
        return f"it should have succeeded, and failed with {answer.code}"
    if step.says.lower() not in answer.text.lower():
        return f'the answer should have said "{step.says}"'
    return ""


def _sum_up(failures: list[Failure], stage: Stage, console: Console) -> None:
    if not failures:
        console.verdict("Everything happened as told.", good=True)
        return
    console.verdict(f"{len(failures)} steps did not happen as told:", good=False)
    for failure in failures:
        console.text(f"   {failure.number}. {failure.step.who}$ {failure.step.command}")
        console.text(f"      {failure.reason}")
    console.text("The ends of our processes' logs:")
    console.output(stage.logs())
