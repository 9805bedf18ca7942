"""kubectl's log, apart from its messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from lnamespace.plugins.cluster.kubectl import Kubectl
from lnamespace.plugins.cluster.logs import cut_log

FAILED = "The connection to the server 127.0.0.1:1 was refused - did you specify the right port?\n"
LOG = """I1127 09:16:56.566505   30004 round_trippers.go:527] "Request" verb="GET" headers=<
\tAccept: application/json, */*
 >
I1127 09:16:56.566600   30004 round_trippers.go:574] Response Status: 200 OK in 1 milliseconds
"""


@pytest.mark.parametrize(
    "told", ["", FAILED, "Warning: a\tb\n", "I am no log\n", "I1127 is a name\n", " >\n\tx\n"]
)
def test_messages_are_no_log(told: str) -> None:
    assert cut_log(told) == (told, "")
    assert cut_log(told + LOG) == (told, LOG)
    assert cut_log(LOG + FAILED + told) == (FAILED + told, LOG)


@pytest.mark.parametrize(("flags", "shown"), [((), False), (("--v=6",), True)])
def test_the_log_is_shown_where_kubectl_succeeds(
    flags: tuple[str, ...],
    shown: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`kubectl lns list -v=6` showed no request."""
    log, kubectl = tmp_path / "log", tmp_path / "kubectl"
    log.write_text(LOG + "Warning: old\n")
    kubectl.write_text(f"#!/bin/sh\ncat {log} >&2; echo '{{}}'\n")
    kubectl.chmod(0o755)
    monkeypatch.setenv("KUBECTL", str(kubectl))
    reply = Kubectl(flags).start_get("/version").reply()
    assert reply.document() == {}
    assert reply.err.endswith("Warning: old\n")
    assert (capsys.readouterr().err != "") == shown
