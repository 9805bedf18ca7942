"""What people are answered in each LCluster, and at the platform's API server, by the model.

Each check is a sentence, what it should come to, and how to find out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

from tests.e2e.lclusters_model.authority import (
    BINDINGS,
    CLUSTER_ROLES,
    DEFINITIONS,
    WIDGETS,
    Guise,
    Right,
)
from tests.e2e.lclusters_model.stage import PEOPLE, LClusterStage
from tests.e2e.lclusters_model.things import BARRED
from tests.e2e.lclusters_model.world import Inside, World
from tests.e2e.support.api import GROUP, NAMESPACES, Api, ApiError, Object, Unreachable, ns_path
from tests.e2e.support.gateway import LCLUSTERS
from tests.e2e.support.people import Who, account, user
from tests.e2e.support.rights import Deed, Rights

Answer = object
NOBODY = "nobody"
"""The answer to somebody who is not let in, whatever they ask."""

IN_NAMESPACES = (
    Right("get", "pods"),
    Right("create", "configmaps"),
    Right("get", "secrets"),
    Right("create", "resourcequotas"),
    Right("create", BINDINGS),
    Right("delete", WIDGETS),
    Right("impersonate", "serviceaccounts"),
)
EVERYWHERE = (
    Right("list", "namespaces"),
    Right("get", "secrets"),
    Right("create", CLUSTER_ROLES),
    Right("create", DEFINITIONS),
    Right("impersonate", "users", "boss"),
    Right("*", "*"),
)
OTHERS = ("boss", "system:serviceaccount:default:robot", "system:serviceaccount:work:robot")
"""As whom people try to act."""
_ME = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_MAY = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_REFUSED = (401, 403, 404)


@dataclass(frozen=True)
class Check:
    """Something that is asked, and what must be answered."""

    what: str
    expected: Answer
    ask: Callable[[], Answer]
    review: bool = False
    """Whether it is one of the many access reviews."""
    cut: bool = False
    """Whether a connection that is cut is a refusal too: a gateway that has begun after the end of
    the LCluster that a certificate is from does not know who issued it."""

    def doubt(self) -> str:
        """Return what is wrong; nothing if all is well."""
        try:
            found = self.ask()
        except (Unreachable, ApiError) as error:
            refused = self.cut and isinstance(error, Unreachable)
            found = NOBODY if refused else str(error)
        return "" if found == self.expected else f"{self.what}: {found}, not {self.expected}"


def checks(stage: LClusterStage, world: World, now: float) -> list[Check]:
    """Return all that is asked where everything is at rest."""
    actors = (*PEOPLE, *world.logins)
    found = [check for name in world.lclusters for check in _state(stage, world, name)]
    for name, actor in product(world.lclusters, actors):
        found += _inside(stage, world, name, actor, now)
        found += _upstream(stage, world, name, actor, now)
    for name in world.lclusters:
        found += [*_bars(stage, world, name, now), *_account(stage, world, name)]
    return found


def strays(stage: LClusterStage, world: World) -> list[str]:
    """Return what is upstream and belongs to no LCluster, or is the platform's and was changed."""
    living = {stage.real(name): inside.namespaces for name, inside in world.lclusters.items()}
    wrong = stage.strays(living)
    if stage.platform_roles() != stage.published:
        wrong.append("a ClusterRole of the platform is not what it was")
    return wrong


def _state(stage: LClusterStage, world: World, name: str) -> Iterator[Check]:
    def ready() -> Answer:
        status = stage.admin.get(f"{LCLUSTERS}/{stage.real(name)}").get("status", {})
        found = {each["type"]: each["status"] for each in status.get("conditions", ())}
        return found.get("Ready"), status.get("namespaces")

    expected = ("True", len(world.lclusters[name].namespaces))
    yield Check(f"{name} is Ready, with its namespaces", expected, ready)


def _inside(
    stage: LClusterStage, world: World, name: str, actor: str, now: float
) -> Iterator[Check]:
    guise, inside = world.guise(name, actor, now), world.lclusters[name]
    api = stage.inside(name, actor)
    who, closed = f"{actor} in {name}", inside.suspended == "Closed"
    cut = actor.startswith("certificate-")
    yield Check(f"{who} is", NOBODY if closed else _told(guise), lambda: _me(api), cut=cut)
    for sudo, other in ((True, ""), *((False, other) for other in OTHERS)):
        acting = world.acting(name, actor, now, sudo=sudo, other=other)
        told = NOBODY if closed else _told(acting)
        masked = stage.inside(name, actor, sudo=sudo, other=other or _name(world, actor))
        yield Check(f"{who} as {other or 'root'} is", told, partial(_me, masked), cut=cut)
    nobody = guise is None or closed
    if guise is None or closed:
        spaces: Answer = NOBODY
    else:
        spaces = inside.namespaces if inside.may(guise, [Right("list", "namespaces")]) else NOBODY
    yield Check(f"{who} lists namespaces", spaces, lambda: _names(api, NAMESPACES), cut=cut)
    if guise is None or nobody:
        return
    yield from _rights(api, who, inside, guise)
    yield from _contents(api, who, inside, guise)


def _rights(api: Api, who: str, inside: Inside, guise: Guise) -> Iterator[Check]:
    asked = [(right, "") for right in EVERYWHERE]
    asked += product(IN_NAMESPACES, ("default", "work"))
    for right, place in asked:
        expected = inside.may(guise, [right], place)
        what = f"{who} may {right} in {place or 'all'}"
        yield Check(what, expected, partial(_may, api, right, place), review=True)


def _contents(api: Api, who: str, inside: Inside, guise: Guise) -> Iterator[Check]:
    may = inside.may(guise, [Right("list", "configmaps")])
    papers = frozenset(inside.papers) if may else NOBODY
    yield Check(f"{who} lists papers", papers, lambda: _papers(api))
    for version in ("v1", "v2"):
        may = inside.version == version and inside.may(guise, [Right("list", WIDGETS)])
        found = frozenset(inside.widgets) if may else NOBODY
        path = f"/apis/example.com/{version}/widgets"
        yield Check(f"{who} lists widgets {version}", found, partial(_places, api, path))


def _bars(stage: LClusterStage, world: World, name: str, now: float) -> Iterator[Check]:
    """Yield what an LCluster's own policies and webhooks refuse, and those of another do not."""
    inside = world.lclusters[name]
    someone = next((each for each in PEOPLE if world.guise(name, each, now)), "")
    if inside.suspended or not someone:
        return
    api = stage.inside(name, someone)
    for kind in ("configmaps", "secrets"):
        what, expected = (
            f"{someone} in {name} creates what is barred, {kind}",
            kind not in inside.barred,
        )
        yield Check(what, expected, partial(_creates, api, kind))


def _upstream(
    stage: LClusterStage, world: World, name: str, actor: str, now: float
) -> Iterator[Check]:
    """Yield what somebody may do at the platform's API server, of what there is of an LCluster."""
    real, rights = stage.real(name), Rights(stage.admin)
    inside, login = world.lclusters[name], world.logins.get(actor)
    if login is None:
        who, edits = user(actor), world.edits(name, actor, now)
        edit = Deed("update", "lclusters", name=real, group=GROUP)
        yield Check(f"{actor} edits {name}", edits, lambda: rights.may(who, edit))
    elif login.serial:
        who = account(f"{stage.real(login.lcluster)}-{login.place[0]}", login.place[1])
    else:
        who = login.who
        api = stage.upstream(actor)
        yield Check(f"{actor} upstream is", NOBODY, lambda: _me(api))
    own = Guise(account(*login.place)) if login and login.serial else None
    for space, right in product(
        ("default", "work"), (Right("get", "pods"), Right("get", "secrets"))
    ):
        # Another's account is bound nowhere in this LCluster.
        mine = own is not None and login is not None and login.lcluster == name
        expected = mine and own is not None and inside.upstream(own, right, space)
        deed = Deed(right.verb, right.resource, f"{real}-{space}")
        what = f"{actor} upstream may {right} in {name}, {space}"
        yield Check(what, expected, partial(rights.may, who, deed))
    for deed in (
        Deed("list", "secrets"),
        Deed("list", "namespaces"),
        Deed("impersonate", "serviceaccounts", "lnamespace-clusters", real),
    ):
        yield Check(f"{actor} upstream: {deed}", False, partial(rights.may, who, deed))


def _account(stage: LClusterStage, world: World, name: str) -> Iterator[Check]:
    """Yield what the account of an LCluster may do: all in its namespaces, and nothing else."""
    rights, who = Rights(stage.admin), account("lnamespace-clusters", stage.real(name))
    places = {("", False), ("default", False), ("lnamespace-system", False)}
    for other, inside in world.lclusters.items():
        places |= {(f"{stage.real(other)}-{each}", other == name) for each in inside.namespaces}
    for place, expected in sorted(places):
        deed = Deed("get", "secrets", place)
        what = f"the account of {name} reads secrets in {place or 'all'}"
        yield Check(what, expected, partial(rights.may, who, deed))


def _name(world: World, actor: str) -> str:
    login = world.logins.get(actor)
    return login.who.user if login else actor


def _told(guise: Guise | None) -> Answer:
    return NOBODY if guise is None else Who(guise.who.user, tuple(sorted(guise.who.groups)))


def _me(api: Api) -> Answer:
    return _unless_refused(lambda: _who(api.create(_ME, {})["status"]["userInfo"]))


def _who(told: Object) -> Who:
    return Who(told["username"], tuple(sorted(told["groups"])))


def _names(api: Api, path: str) -> Answer:
    return _unless_refused(lambda: frozenset(each["metadata"]["name"] for each in api.items(path)))


def _places(api: Api, path: str) -> Answer:
    def found() -> Answer:
        metadata = [each["metadata"] for each in api.items(path)]
        return frozenset((each["namespace"], each["name"]) for each in metadata)

    return _unless_refused(found)


def _papers(api: Api) -> Answer:
    found = _places(api, "/api/v1/configmaps")
    if not isinstance(found, frozenset):
        return found
    return frozenset(place for place in found if place[1].startswith("paper"))


def _may(api: Api, right: Right, namespace: str) -> Answer:
    resource, _, group = right.resource.partition(".")
    deed = Deed(right.verb, resource, namespace, right.name, "*" if resource == "*" else group)
    answer = api.create(_MAY, {"spec": {"resourceAttributes": deed.attributes()}})
    return bool(answer["status"]["allowed"])


def _creates(api: Api, kind: str) -> Answer:
    try:
        api.create(ns_path("default", kind), {"metadata": {"name": BARRED}}, dryRun="All")
    except ApiError as error:
        if "barred" in error.message or "webhook" in error.message:
            return False
        raise
    return True


def _unless_refused(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except ApiError as error:
        if error.status in _REFUSED:
            return NOBODY
        raise
