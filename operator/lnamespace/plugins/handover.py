"""Handing a command line over to kubectl: to become it, or to run it and wait."""

from __future__ import annotations

import os

from lnamespace.plugins.errors import PluginError
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn
else:
    import _signal as signal  # the module `signal` makes enumerations, which takes longer

# Python ignores these, and what it starts would inherit that.
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # what a terminal sends to all that run in it
PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def executable() -> str:
    """The kubectl to use."""
    return os.environ.get("KUBECTL") or "kubectl"


def become_kubectl(arguments: Sequence[str]) -> NoReturn:
    """Replace this process: standard input, exit code and signals are then kubectl's own."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in IGNORED}
    try:
        os.execvp(executable(), [executable(), *arguments])  # noqa: S606 - on purpose
    except FileNotFoundError:
        raise not_found(executable()) from None
    finally:  # we are still here: without this, our own next write to a closed pipe would end us
        _set(before)


def run_kubectl(arguments: Sequence[str]) -> int:
    """Run kubectl on our own terminal, input and output; return its exit code.

    Ctrl-C reaches both, and it is kubectl that ends by it; what is sent to us alone is passed on.
    """
    command, children, early = [executable(), *arguments], list[int](), list[int]()

    def pass_on(number: int, _: object) -> None:
        if children:
            os.kill(children[0], number)
        else:
            early.append(number)

    terminal = tuple(number for number in TERMINAL if _is_heard(number))
    before = {number: signal.signal(number, signal.SIG_IGN) for number in terminal}
    before |= {n: signal.signal(n, pass_on) for n in PASSED_ON if _is_heard(n)}
    try:
        defaults = (*IGNORED, *terminal)
        children.append(os.posix_spawnp(command[0], command, os.environ, setsigdef=defaults))
        for number in early:
            os.kill(children[0], number)
        _, status = os.waitpid(children[0], 0)
    except FileNotFoundError:
        raise not_found(command[0]) from None
    except OSError as error:
        raise PluginError(f"{command[0]}: {error.strerror}") from None
    finally:
        _set(before)
    if os.WIFSIGNALED(status):  # whoever waits for us is told the same
        _end_by(os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _set(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _is_heard(number: int) -> bool:
    """Whether we were not started to ignore it, as by nohup: kubectl then ignores it too."""
    return signal.getsignal(number) != signal.SIG_IGN


def _end_by(number: int) -> None:
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def not_found(program: str) -> PluginError:
    """The words for a kubectl that is not there."""
    return PluginError(f"{program} was not found; install kubectl or set KUBECTL to it")
