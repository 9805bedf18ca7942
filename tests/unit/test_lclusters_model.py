"""The model of LClusters, which the end-to-end tests compare with the real ones."""

from pathlib import Path

import pytest

from tests.e2e.lclusters_model.authority import EVERYTHING, Binding, Right, Role
from tests.e2e.lclusters_model.moves import CreateLCluster, Make, from_line, to_line
from tests.e2e.lclusters_model.plot import plot
from tests.e2e.lclusters_model.scenes import scenes
from tests.e2e.lclusters_model.things import Gift, Rules, Space
from tests.e2e.lclusters_model.world import Inside, Login, World
from tests.e2e.rights_model.model import Entry, Lists, Subject

ANN, BEN = Subject("User", "ann"), Subject("User", "ben")
LISTS = Lists((Entry(BEN),), (Entry(ANN),), (Entry(ANN),))


def world(**inside: object) -> World:
    return World({"red": Inside(1, LISTS, **inside)})  # type: ignore[arg-type]


def test_the_model_shares_no_code_with_the_product() -> None:
    folder = Path(__file__).parents[1] / "e2e" / "lclusters_model"
    files = [*folder.glob("*.py")]
    assert files
    for file in files:
        assert "from lnamespace" not in file.read_text()


def test_the_same_seed_gives_the_same_moves_and_moves_can_be_serialized() -> None:
    moves = plot(7, 60)
    assert moves == plot(7, 60) != plot(8, 60)
    for each in (*moves, *scenes()):
        assert from_line(to_line(each)) == each


@pytest.mark.parametrize(
    ("right", "other", "covers"),
    [
        (Right("*", "*"), Right("get", "pods"), True),
        (Right("*", "*"), Right("*", "/*"), False),
        (Right("get", "pods", "one"), Right("get", "pods"), False),
        (Right("get", "pods"), Right("get", "pods", "one"), True),
        (Right("get", "pods"), Right("*", "pods"), False),
    ],
)
def test_a_right_covers_narrower_rights_only(right: Right, other: Right, covers: bool) -> None:
    assert right.covers(other) is covers


def test_an_unlisted_user_has_no_access_and_only_sudoers_may_use_sudo() -> None:
    assert world().guise("red", "eve", 0.0) is None
    assert world().acting("red", "ben", 0.0, sudo=True, other="") is None
    root = world().acting("red", "ann", 0.0, sudo=True, other="")
    assert root is not None
    assert world().lclusters["red"].may(root, EVERYTHING)


def test_a_user_cannot_grant_rights_beyond_their_own() -> None:
    more = Rules(namespace="default", name="more", rights=(Right("*", "*"),))
    up = Gift(namespace="default", name="up", role="cluster-admin", subject=BEN)
    for thing in (more, up):
        assert not Make(actor="ben", lcluster="red", thing=thing).allowed(world(), 0.0)
        assert Make(actor="ann", lcluster="red", sudo=True, thing=thing).allowed(world(), 0.0)
    view = Gift(namespace="default", name="view", role="view", subject=BEN)
    assert Make(actor="ben", lcluster="red", thing=view).allowed(world(), 0.0)


def test_an_aggregated_role_counts_in_the_lcluster_and_not_in_the_host_cluster() -> None:
    keys = Right("get", "secrets")
    robot = Subject("ServiceAccount", "robot", "default")
    roles = {("", "keys"): Role((keys,), label="play"), ("", "sum"): Role(sums="play")}
    bound = {("default", "b"): Binding("ClusterRole", "sum", (robot,))}
    there = world(roles=roles, bindings=bound, accounts={("default", "robot"): 5})
    login = Login("red", 1, place=("default", "robot"), serial=5)
    there = World(there.lclusters, {"token": login})
    guise = there.guise("red", "token", 0.0)
    assert guise is not None
    assert there.lclusters["red"].may(guise, [keys], "default")
    assert not there.lclusters["red"].upstream(guise, keys, "default")


def test_a_login_ends_with_its_lcluster_and_with_its_service_account() -> None:
    login = Login("red", 1, user="carl")
    assert World(world().lclusters, {"card": login}).guise("red", "card", 0.0)
    anew = CreateLCluster(lcluster="red").after(World(serial=5, logins={"card": login}), 0.0)
    assert anew.guise("red", "card", 0.0) is None
    revoked = World(world(revoked=frozenset({"card"})).lclusters, {"card": login})
    assert revoked.guise("red", "card", 0.0) is None


def test_writes_to_a_suspended_lcluster_are_refused() -> None:
    make = Make(actor="ben", lcluster="red", thing=Space(name="work"))
    assert make.allowed(world(), 0.0)
    assert not make.allowed(world(suspended="ReadOnly"), 0.0)
