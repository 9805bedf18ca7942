"""A kuberc, in which people keep defaults for kubectl's flags, changes no question of the plugins.

The kubectl here refuses what the real one does with such defaults, unless a flag is written.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from lnamespace.plugins.cluster.kubectl import Kubectl
from lnamespace.plugins.cluster.watching import observe
from lnamespace.plugins.commands.create import create_lnamespace
from lnamespace.plugins.kubeconfig.contexts import start_view

KUBECTL = """#!/bin/sh
case "$1" in
get) needed="--output= --selector= --watch=false --watch-only=false --output-watch-events=false";;
create) needed="--output= --selector= --edit=false";;
replace) needed="--output= --recursive=false";;
config) needed="--minify=false";;
esac
for flag in $needed; do
  case " $* " in
  *" $flag "*) ;;
  *) echo "error: --raw does not go with ${flag%%=*}" >&2; exit 1;;
  esac
done
[ "$1" = config ] || [ "$1" = get ] || cat > /dev/null
cat "$0.answer"
"""


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubectl:
    program = tmp_path / "kubectl"
    program.write_text(KUBECTL)
    program.chmod(0o755)
    lns = {"metadata": {"name": "a"}}
    (tmp_path / "kubectl.answer").write_text(json.dumps({"type": "ADDED", "object": lns}))
    monkeypatch.setenv("KUBECTL", str(program))
    return Kubectl()


@pytest.mark.parametrize("verb", ["get", "create", "replace"])
def test_a_request_to_one_path_is_answered_with_defaults_in_a_kuberc(
    verb: str, kubectl: Kubectl
) -> None:
    body: object = None if verb == "get" else {}
    assert kubectl.start_raw(verb, "/version", body).reply().err == ""


def test_waiting_sees_the_object_with_defaults_in_a_kuberc(kubectl: Kubectl) -> None:
    seen = next(observe(kubectl, "a", time.monotonic() + 60))
    assert seen == {"metadata": {"name": "a"}}


def test_a_creation_is_sent_with_defaults_in_a_kuberc(kubectl: Kubectl) -> None:
    assert kubectl
    assert create_lnamespace(["a", "--wait=false"]) == 0


def test_the_whole_kubeconfig_is_read_with_defaults_in_a_kuberc(kubectl: Kubectl) -> None:
    assert kubectl
    assert start_view(()).reply().code == 0
