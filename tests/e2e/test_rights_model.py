"""People and parts of the cluster do what they like, and rights are what the model says.

`make soak` plays for as long as one likes; here are plays of less than a minute each, on one
cluster: sudo by group first, then a change to accounts and back. What they say when they fail,
and how to play them again, is in docs/testing.md.
"""

import os
import time
from collections.abc import Iterator

import pytest

from tests.e2e.rights_model.play import Difference, Play
from tests.e2e.rights_model.plot import NAMES, ending, plot
from tests.e2e.rights_model.scenes import scenes, scenes_of_accounts
from tests.e2e.rights_model.stage import Stage
from tests.e2e.support.cluster import running
from tests.e2e.support.waiting import Measurements

SEED = int(os.environ.get("LNAMESPACE_SEED") or 4711)
STEPS = 60
SECONDS = 20.0
"""After so long it comes to its end, wherever it is; a busy machine sees less of it."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A cluster of its own, for it is killed here."""
    with running(tmp_path_factory.mktemp("rights-model")) as own, Stage(own) as stage:
        yield stage


@pytest.mark.timeout(900, func_only=True)
def test_rights_are_what_the_lists_say_whatever_happens(
    stage: Stage, measurements: Measurements
) -> None:
    play = Play(stage, NAMES, SEED)
    try:
        play.run(scenes())
        play.run(plot(SEED, STEPS), until=time.monotonic() + SECONDS)
        play.run(ending())
    except AssertionError as difference:
        told = f"LNAMESPACE_SEED={SEED}\n{play.report}\n\n{difference}"
        raise Difference(told) from None
    what = f"a few steps to all rights as the lists say, seed {SEED}"
    for seconds in play.report.settled:
        measurements.note(what, seconds)
    assert len(play.report.settled) > 12


@pytest.mark.timeout(900, func_only=True)
def test_they_are_so_where_sudo_is_by_account_and_while_it_changes(stage: Stage) -> None:
    play = Play(stage, NAMES, SEED)
    try:
        play.run(scenes_of_accounts())
        play.run(ending())
    except AssertionError as difference:
        raise Difference(f"{play.report}\n\n{difference}") from None
    assert len(play.report.settled) > 8
