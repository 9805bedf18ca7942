"""People of several LClusters do what they like, and everybody is answered as the model says.

`make soak` plays for as long as one likes; here, for `make thorough`, is what experience says goes
wrong, and one play of a new seed. What they say when they fail, and how to play them again, is in
docs/testing.md.
"""

import random
from collections.abc import Iterable, Iterator

import pytest

from tests.e2e.lclusters_model.moves import AnyMove
from tests.e2e.lclusters_model.play import LClusterPlay, Played
from tests.e2e.lclusters_model.plot import plot
from tests.e2e.lclusters_model.scenes import scenes
from tests.e2e.lclusters_model.stage import LClusterStage
from tests.e2e.rights_model.play import Difference
from tests.e2e.rights_model.stage import passing
from tests.e2e.support.api import ApiError
from tests.e2e.support.furnished import furnish, release_volumes
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster
from tests.e2e.support.inventory import inventory
from tests.e2e.support.versions import is_since
from tests.e2e.support.waiting import Measurements, eventually, measured, settled

pytestmark = pytest.mark.thorough

LENGTH = 150
"""So many moves of a random play."""
SHARES = 3
"""Of the access reviews every third is asked at each rest; `make soak` asks all of them."""


@pytest.fixture(scope="module")
def stage(crashing_gateway_cluster: GatewayCluster) -> Iterator[LClusterStage]:
    """Yield a cluster that is killed here."""
    with LClusterStage(crashing_gateway_cluster) as stage:
        yield stage


def played(stage: LClusterStage, moves: Iterable[AnyMove], name: str, shares: int = 1) -> Played:
    """Play, and clean up what a play that failed has left."""
    play = LClusterPlay(stage, shares=shares)
    try:
        return play.run(moves)
    except (AssertionError, ApiError) as difference:
        told = f"{name}\n{play.report}\n\n{difference}"
        stage.clean()
        raise Difference(told) from None


@pytest.mark.timeout(1800, func_only=True)
def test_written_scenes_in_lclusters_match_the_model(
    stage: LClusterStage, measurements: Measurements
) -> None:
    report = played(stage, scenes(), "what is written down", SHARES)
    for seconds in report.settled:
        measurements.note("a few moves in LClusters to all as the model says", seconds)
    assert report.done > 60
    assert report.refused > 12
    assert report.answers > 1500


@pytest.mark.timeout(1800, func_only=True)
def test_random_operations_in_lclusters_match_the_model(stage: LClusterStage) -> None:
    seed = random.randrange(10**6)
    report = played(stage, plot(seed, LENGTH), f"make soak OF=lclusters SEED={seed} STEPS={LENGTH}")
    assert report.answers > 100


@pytest.mark.parametrize("fails", [False, True], ids=["calmly", "while everything fails"])
def test_deleting_an_lcluster_restores_the_previous_inventory_of_the_platform(
    fails: bool, stage: LClusterStage, measurements: Measurements
) -> None:
    """Every object of every resource is compared, by its UID; it had one of each kind."""
    stage.next_play()
    before = settled(lambda: inventory(stage.admin))
    lists = {each: [{"name": "ann"}] for each in ("users", "managers", "sudoers")}
    path, body = f"{LCLUSTERS}/{stage.real('full')}", stage.lcluster("full", lists)
    stage.upstream("ann").create(LCLUSTERS, body)
    root = stage.inside("full", "ann", sudo=True)
    eventually(lambda: stage.admits("full", "ann"), what="ann is not let in")
    assert furnish(root) > (60 if is_since("1.36") else 50)
    own = inventory(stage.admin) - before
    assert len({each.resource for each in own}) > (50 if is_since("1.36") else 40)

    stage.upstream("ann").delete(path)
    if fails:
        stage.kill("controller")
        stage.kill("kube-apiserver")
        stage.start()
        stage.kill("gateway")
        eventually(lambda: own - inventory(stage.admin), what="nothing is deleted")
        for victim in ("controller", "etcd", "gateway", "kube-controller-manager"):
            stage.kill(victim)
        stage.start()

    def differences() -> list[str]:
        try:
            release_volumes(stage.admin)
            now = inventory(stage.admin)
        except ApiError as error:  # an API server that has just come back
            if not passing(error):
                raise
            return [str(error)]
        left = [f"{each} is left" for each in now - before]
        return sorted([*left, *(f"{each} is gone" for each in before - now)])

    def same() -> bool:
        found = differences()
        assert not found, found
        return True

    took = measured(same, what="it is not as it was")
    if not fails:
        measurements.note("LCluster with an object of each kind deleted", took)
