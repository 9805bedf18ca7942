"""People and parts of the cluster do what they like, and rights are what the model says.

`make soak` plays what nobody wrote down, for as long as one likes; here is what experience says
goes wrong, on one cluster: sudo by group first, then a change to accounts and back. `make thorough`
plays it; `make test` asks for each right in `test_rights.py`. What they say when they fail, and how
to play them again, is in docs/testing.md.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.rights_model.lines import AnyStep
from tests.e2e.rights_model.play import Difference, Play
from tests.e2e.rights_model.plot import NAMES, ending
from tests.e2e.rights_model.scenes import scenes, scenes_of_accounts
from tests.e2e.rights_model.stage import Stage
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.waiting import Measurements

SEED = 4711
"""Of whom is asked in which order; what is done is written down."""

SHARES = 3
"""Of what is not grave every third question is asked each time; `make soak` asks all of them."""


@pytest.fixture(scope="module")
def stage(crashing_cluster: Cluster) -> Iterator[Stage]:
    """Yield a cluster that is killed here, and on which there is no LNamespace yet."""
    with Stage(crashing_cluster) as stage:
        yield stage


@pytest.mark.thorough
@pytest.mark.timeout(1800, func_only=True)
@pytest.mark.parametrize("script", [scenes, scenes_of_accounts], ids=["by group", "by account"])
def test_rights_match_the_model_after_every_step_of_the_script(
    script: Callable[[], Iterator[AnyStep]], stage: Stage, measurements: Measurements
) -> None:
    play = Play(stage, NAMES, SEED, shares=SHARES)
    try:
        play.run(script())
        play.run(ending())
    except AssertionError as difference:
        raise Difference(f"{play.report}\n\n{difference}") from None
    for seconds in play.report.settled:
        measurements.note("a few steps to all rights as the lists say", seconds)
    assert len(play.report.settled) > 8
