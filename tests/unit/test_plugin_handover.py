"""What is left of a hand-over to kubectl that could not take place."""

from __future__ import annotations

import signal

import pytest
from lnamespace.plugins.errors import PluginError
from lnamespace.plugins.handover import become_kubectl, run_kubectl
from lnamespace.plugins.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TOUCHED = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
)


@pytest.mark.parametrize("hand_over", [become_kubectl, run_kubectl])
def test_signals_are_as_before_where_kubectl_cannot_be_started(
    hand_over: Callable[[list[str]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SIGPIPE at its default a process ends at its next write to a closed socket."""
    monkeypatch.setenv("KUBECTL", "/nowhere/kubectl")
    before = {number: signal.getsignal(number) for number in TOUCHED}
    with pytest.raises(PluginError, match="was not found"):
        hand_over(["version"])
    assert {number: signal.getsignal(number) for number in TOUCHED} == before
