"""What experience says goes wrong, written down: each kind of move in a place where it matters."""

from collections.abc import Iterator

from tests.e2e.lclusters_model.authority import BINDINGS, CLUSTER_ROLES, ROLES, Right
from tests.e2e.lclusters_model.moves import (
    AnyMove,
    Certify,
    Crash,
    CreateLCluster,
    DeleteLCluster,
    Drop,
    Issue,
    Lapse,
    Make,
    Relist,
    Rest,
    Revoke,
    Suspend,
)
from tests.e2e.lclusters_model.plot import ending
from tests.e2e.lclusters_model.things import (
    AnyThing,
    Bar,
    Gift,
    Paper,
    Robot,
    Rules,
    Space,
    Widget,
    WidgetDefinition,
)
from tests.e2e.rights_model.model import Subject

_ROBOT = Subject("ServiceAccount", "robot", "work")
_ROBOT_USER = "system:serviceaccount:work:robot"
_KEYS = (Right("get", "secrets"),)
_EVE, _BOSS = Subject("User", "eve"), Subject("User", "boss")


def scenes() -> Iterator[AnyMove]:
    """Two LClusters of hostile neighbours."""
    yield from _settling_in()
    yield from _roles()
    yield from _climbing()
    yield from _revocation()
    yield from _suspension()
    yield from _made_anew()
    yield from ending()


def _settling_in() -> Iterator[AnyMove]:
    """Both have the same names, and widgets of two versions."""
    yield CreateLCluster(
        actor="ann",
        lcluster="red",
        users=(("ben", 0),),
        managers=(("ann", 0),),
        sudoers=(("ann", 0),),
    )
    yield CreateLCluster(
        actor="eve",
        lcluster="blue",
        users=(("ben", 3), ("cat", 0)),
        managers=(("eve", 0),),
        sudoers=(("eve", 0),),
    )
    yield Rest()
    for actor, lcluster, version in (("ben", "red", "v1"), ("cat", "blue", "v2")):
        yield _make(actor, lcluster, Space(name="work"))
        yield _make(actor, lcluster, WidgetDefinition(version=version))
    yield Lapse()
    yield Rest()
    for actor, lcluster, version in (("ben", "red", "v1"), ("cat", "blue", "v2")):
        yield _make(actor, lcluster, Widget(namespace="work", name="widget", version=version))
        yield _make(actor, lcluster, Paper(namespace="work", name=f"paper-{lcluster}"))
        yield _make(actor, lcluster, Robot(namespace="work", name="robot"))
    yield _make("eve", "blue", Bar(name="configmaps"), sudo=True)
    yield _make("eve", "blue", Bar(name="secrets"), sudo=True)
    yield _make("ben", "blue", Paper(namespace="work", name="paper-late"))
    yield Rest()


def _roles() -> Iterator[AnyMove]:
    """Roles of one are nothing to another: not aggregated, nor bound to all."""
    yield Issue(actor="ben", lcluster="red", label="robot", namespace="work", name="robot")
    yield Issue(actor="cat", lcluster="blue", label="spy", namespace="work", name="robot")
    yield Certify(actor="ann", lcluster="red", sudo=True, label="card", user="carl", group="devs")
    yield _make("ann", "red", Rules(name="keys", rights=_KEYS, label="play"), sudo=True)
    yield _make("ann", "red", Rules(name="sum", sums="play"), sudo=True)
    yield _gift("red", "robots", "view", _ROBOT, "work")
    yield _gift("red", "devs", "sum", Subject("Group", "devs"))
    quotas = (Right("create", "resourcequotas"),)
    more = Rules(name="quotas", rights=quotas, label="aggregate-to-admin")
    yield _make("eve", "blue", more, sudo=True)
    yield _gift("blue", "all", "cluster-admin", Subject("Group", "system:authenticated"), by="eve")
    yield _gift("blue", "spies", "sum", _ROBOT, "work", by="eve")
    yield Crash(process="gateway")
    yield Rest()


def _climbing() -> Iterator[AnyMove]:
    """Nobody gives what they do not have, nor becomes whom they may not."""
    yield _make("ben", "red", Rules(namespace="work", name="more", rights=(Right("*", "*"),)))
    own = Gift(namespace="work", name="up", role="cluster-admin", subject=_EVE)
    yield _make("ben", "red", own)
    yield _make("ben", "red", own, sudo=True)
    yield _make("ben", "red", Rules(namespace="work", name="same", rights=_KEYS))
    yield _make("robot", "red", Paper(namespace="work", name="paper-robot"))
    yield _make("spy", "red", Paper(namespace="work", name="paper-spy"))
    yield _make("ben", "red", Paper(namespace="work", name="paper-boss"), other="boss")
    binder = (Right("bind", CLUSTER_ROLES, "cluster-admin"), Right("create", BINDINGS))
    climber = (Right("escalate", ROLES), Right("create", ROLES))
    mask = (Right("impersonate", "users", "boss"),)
    for name, rights in (("binder", binder), ("climber", climber), ("mask", mask)):
        yield _make("ann", "red", Rules(name=name, rights=rights), sudo=True)
        yield _gift("red", name, name, Subject("User", "ben"), "" if name == "mask" else "work")
    yield _gift("red", "boss", "edit", _BOSS, "default")
    yield Rest()
    yield _make("ben", "red", own)
    yield _make("ben", "red", Rules(namespace="work", name="more", rights=(Right("*", "*"),)))
    yield _make("ben", "red", Paper(namespace="default", name="paper-boss"), other="boss")
    yield _make("ben", "red", Paper(namespace="work", name="paper-boss"), other="boss")
    yield _gift("red", "rootly", "cluster-admin", _ROBOT)
    yield Crash(process="controller")
    yield _make("ben", "red", Bar(), other=_ROBOT_USER)
    yield Rest()
    yield Drop(
        actor="ann", lcluster="red", sudo=True, thing=_bond("rootly", "cluster-admin", _ROBOT)
    )


def _revocation() -> Iterator[AnyMove]:
    """Let nobody in who is off the list, or has a credential that is revoked."""
    yield Revoke(actor="eve", lcluster="red", label="robot")
    yield Revoke(actor="ann", lcluster="red", label="card")
    yield Relist(actor="ben", lcluster="red", managers=(("ben", 0),), sudoers=(("ben", 0),))
    yield Relist(
        actor="ann",
        lcluster="red",
        users=(("cat", 0),),
        managers=(("ann", 0),),
        sudoers=(("ann", 0),),
    )
    yield Issue(actor="cat", lcluster="red", label="robot-2", namespace="work", name="robot")
    yield Crash(process="kube-apiserver")
    yield Rest()
    yield Drop(actor="cat", lcluster="blue", thing=Space(name="work"))
    yield Drop(actor="cat", lcluster="blue", thing=WidgetDefinition(version="v2"))
    yield Drop(actor="eve", lcluster="blue", sudo=True, thing=Bar(name="secrets"))
    yield Rest()
    yield _make("cat", "blue", WidgetDefinition(version="v1"))
    yield _make("cat", "blue", Space(name="work"))


def _suspension() -> Iterator[AnyMove]:
    """Suspend: only reading is left; close: nothing is; only we open it."""
    yield Suspend(actor="ann", lcluster="red", how="ReadOnly")
    yield Rest()
    yield _make("cat", "red", Paper(namespace="work", name="paper-late"))
    yield _make("ann", "red", Paper(namespace="work", name="paper-late"), sudo=True)
    yield Suspend(actor="ann", lcluster="red", how="")
    yield Suspend(actor="eve", lcluster="blue", how="Closed")
    yield Crash(process="etcd")
    yield Rest()
    yield Suspend(lcluster="red", how="")
    yield Suspend(lcluster="blue", how="")
    yield Rest()


def _made_anew() -> Iterator[AnyMove]:
    """Let an LCluster of the same name, by somebody else, take nobody of the former one."""
    yield DeleteLCluster(actor="cat", lcluster="red")
    yield DeleteLCluster(actor="ann", lcluster="red")
    yield Crash(process="controller")
    yield Crash(process="gateway")
    yield Rest()
    yield CreateLCluster(
        actor="eve",
        lcluster="red",
        users=(("eve", 0),),
        managers=(("eve", 0),),
        sudoers=(("eve", 0),),
    )
    yield Rest()
    yield _make("eve", "red", Space(name="work"))
    yield Rest()
    yield _make("eve", "red", Robot(namespace="work", name="robot"))
    yield _gift("red", "robots", "cluster-admin", _ROBOT, "work", by="eve")
    yield _make("robot-2", "red", Paper(namespace="work", name="paper-former"))
    yield _make("card", "red", Paper(namespace="work", name="paper-former"))
    yield Rest()


def _make(
    actor: str, lcluster: str, thing: AnyThing, *, sudo: bool = False, other: str = ""
) -> Make:
    return Make(actor=actor, lcluster=lcluster, sudo=sudo, other=other, thing=thing)


def _gift(
    lcluster: str, name: str, role: str, subject: Subject, space: str = "", by: str = "ann"
) -> Make:
    return _make(by, lcluster, _bond(name, role, subject, space), sudo=True)


def _bond(name: str, role: str, subject: Subject, space: str = "") -> Gift:
    return Gift(namespace=space, name=name, role=role, subject=subject)
