"""The real cluster with its people: whose requests are whose, and what of it is up."""

import base64
import hashlib
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.e2e.lclusters_model.moves import ADMIN, Victim
from tests.e2e.rights_model.books import LONG, Books
from tests.e2e.rights_model.stage import passing
from tests.e2e.support.api import GROUP, NAMESPACES, RBAC, Api, ApiError, Object, Unreachable
from tests.e2e.support.gateway import LCLUSTERS, GatewayCluster
from tests.e2e.support.inventory import Item, inventory
from tests.e2e.support.people import People
from tests.e2e.support.waiting import eventually

PEOPLE = ("ann", "ben", "cat", "eve")
"""Those who can log in to the platform; eve is nobody's friend."""

_LOOKED_AT = ("admin", "edit", "view", "cluster-admin")
_SYSTEM = 4
"""So many namespaces has every LCluster."""

Credential = dict[str, str]
"""The user of a kubeconfig."""


class LClusterStage:
    """A cluster with the gateway, and those who act on it and in LClusters."""

    _plays = itertools.count(1)

    def __init__(self, cluster: GatewayCluster) -> None:
        self.cluster = cluster
        self.admin = cluster.admin
        self._people = People(cluster)
        self._books = Books(cluster)
        self._credentials: dict[str, Credential] = {}
        self._apis: dict[tuple[object, ...], Api] = {}
        self._play = 0

    def __enter__(self) -> Self:
        for each in PEOPLE:
            self._people.person(each)
        self._books.start()
        # Hooks of the chart make Namespaces that go some seconds later.
        eventually(lambda: not _going(self.admin), LONG, tick=0.1)
        self.baseline = inventory(self.admin)
        self.published = self.platform_roles()
        return self

    def __exit__(self, *_: object) -> None:
        self._books.stop()

    # --- names and people

    def next_play(self) -> None:
        """Begin a play: with LClusters of names of its own, and no logins of an earlier one."""
        self._play = next(self._plays)
        self._credentials.clear()
        self._apis.clear()

    def real(self, lcluster: str) -> str:
        """Return the name of an LCluster of this play upstream."""
        return f"{lcluster}{self._play}"

    def upstream(self, actor: str) -> Api:
        """Somebody's requests at the platform's API server."""
        if actor == ADMIN:
            return self.admin
        if actor in PEOPLE:
            return self._people.person(actor).api
        return self._known(("upstream", actor), lambda: self._with(self.admin, actor))

    def inside(self, lcluster: str, actor: str, *, sudo: bool = False, other: str = "") -> Api:
        """Somebody's requests in an LCluster."""
        base = self._known((lcluster, actor), lambda: self._resident(lcluster, actor))
        if not sudo and not other:
            return base
        groups = ("system:masters",) if sudo else ()
        key = (lcluster, actor, sudo, other)
        return self._known(key, lambda: base.acting(other or actor, *groups))

    def lcluster(self, lcluster: str, spec: Object) -> Object:
        """Return an LCluster to be created."""
        kind = {"apiVersion": f"{GROUP}/v1beta1", "kind": "LCluster"}
        return kind | {"metadata": {"name": self.real(lcluster)}, "spec": spec}

    def admits(self, lcluster: str, actor: str) -> bool:
        """Return whether somebody is let in, and finds the namespaces that each LCluster has."""
        try:
            return len(self.inside(lcluster, actor).items(NAMESPACES)) == _SYSTEM
        except ApiError:
            return False

    def keep(self, label: str, credential: Credential) -> None:
        """Have a login by a credential from now on."""
        self._credentials[label] = credential
        self._apis = {key: api for key, api in self._apis.items() if key[1] != label}

    def has(self, label: str) -> bool:
        """Return whether there is a login of that label."""
        return label in self._credentials

    def knows(self, actor: str) -> bool:
        """Return whether somebody can ask for anything."""
        return actor == ADMIN or actor in PEOPLE or self.has(actor)

    def credential_id(self, label: str) -> str:
        """Return what the API server calls the credential of a login."""
        credential = self._credentials[label]
        if "token" in credential:
            payload = credential["token"].split(".")[1]
            claims: Object = json.loads(
                base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
            )
            return f"JTI={claims['jti']}"
        pem = base64.b64decode(credential["client-certificate-data"])
        der = x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
        return f"X509SHA256={hashlib.sha256(der).hexdigest()}"

    def _known(self, key: tuple[object, ...], make: Callable[[], Api]) -> Api:
        if key not in self._apis:
            self._apis[key] = make()
        return self._apis[key]

    def _resident(self, lcluster: str, actor: str) -> Api:
        person = self._people.person(actor if actor in PEOPLE else PEOPLE[0])
        resident = self.cluster.behind(self.real(lcluster), person)
        return resident.api if actor in PEOPLE else self._with(resident.api, actor)

    def _with(self, api: Api, label: str) -> Api:
        """Return the same server for the holder of a login."""
        document: dict[str, Any] = yaml.safe_load(api.kubeconfig.read_text())
        document["users"][0]["user"] = self._credentials[label]
        file = self.cluster.certificates / "login.kubeconfig"
        file.write_text(yaml.safe_dump(document))
        return Api(Path(file))

    # --- what is up

    def kill(self, victim: Victim) -> None:
        """Crash a process; what answers requests is there again when this returns."""
        ours = {
            "gateway": self.cluster.gateway,
            "controller": self.cluster.controller,
            "webhook": self.cluster.webhook,
        }
        if victim not in ours:
            self.cluster.kill(victim)
            if victim != "kube-controller-manager":
                self._up()
        elif ours[victim].running:
            ours[victim].kill()
        if victim in ("gateway", "webhook"):
            self._run(victim)

    def start(self) -> None:
        """Have everything run."""
        self._up()
        for name in ("webhook", "controller", "gateway"):
            self._run(name)
        self._books.start()

    def clean(self) -> None:
        """Take away what a play that failed has left."""
        self.start()
        for each in self.admin.items(LCLUSTERS):
            self.admin.remove(f"{LCLUSTERS}/{each['metadata']['name']}")
        eventually(lambda: not self.admin.items(LCLUSTERS), LONG, "LClusters are left", tick=0.2)

    def _run(self, name: str) -> None:
        process = getattr(self.cluster, name)
        if not process.running:
            since = process.launch()
            eventually(lambda: process.ready(process.log(since)), LONG, f"no {name}", tick=0.05)

    def _up(self) -> None:
        """Have the API server answer, with all its roles and policies."""
        self.cluster.up()
        someone = self._people.person(PEOPLE[0]).api
        eventually(lambda: _answers(self.admin) and _answers(someone), LONG, tick=0.1)

    # --- what is there

    def strays(self, living: dict[str, frozenset[str]]) -> list[str]:
        """Return what is nobody's on the platform, and what of its own has gone."""
        now = inventory(self.admin)
        came = (f"{each} is nobody's" for each in now - self.baseline if not _owned(each, living))
        gone = (f"{each} of the platform is gone" for each in self.baseline - now)
        return sorted([*came, *gone])

    def platform_roles(self) -> dict[str, Object]:
        """Return what the roles that the platform publishes say."""
        return {name: self.admin.get(f"{RBAC}/clusterroles/{name}")["rules"] for name in _LOOKED_AT}


def _owned(item: Item, living: dict[str, frozenset[str]]) -> bool:
    """Return whether an object belongs to an LCluster that is there, with these namespaces."""
    kind = item.resource.partition(".")[0]
    own = item.name if kind == "namespaces" else item.namespace
    if own:
        return own in {f"{name}-{each}" for name, those in living.items() for each in those}
    return any(_belongs(item, kind, name) for name in living)


def _belongs(item: Item, kind: str, name: str) -> bool:
    """Return whether a cluster-scoped object belongs to an LCluster."""
    prefixed = item.name.startswith(f"{name}-") or f".{name}-" in item.name
    if kind == "lclusters":
        return item.name == name
    # Kubernetes makes an APIService of each group, and gives it no label of ours.
    if kind == "apiservices":
        return prefixed
    labelled = item.labels.get(f"{GROUP}/lcluster") == name
    return item.name.startswith(f"lnamespace:{name}:") or (prefixed and labelled)


def _going(api: Api) -> list[str]:
    """Return the Namespaces that are being deleted."""
    found = (each["metadata"] for each in api.items(NAMESPACES))
    return [each["name"] for each in found if "deletionTimestamp" in each]


def _answers(api: Api) -> bool:
    try:
        api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    except (Unreachable, ApiError):
        return False
    return True


def persistently(request: Callable[[], None], *, awaited: bool) -> bool:
    """Ask until there is a definite answer; whether it was yes.

    Who is not known is refused: where it is ``awaited`` that they are, only if they stay unknown,
    for an API server that starts knows nobody. What was asked before without an answer may have
    been done.
    """
    started, asked_before = time.monotonic(), False
    while True:
        try:
            request()
        except (Unreachable, ApiError) as error:
            late = time.monotonic() - started > LONG
            if isinstance(error, ApiError):
                unknown = error.status == 401 and (late or not awaited)
                if unknown or not passing(error):
                    return asked_before and error.status in (404, 409)
            if late:
                raise
            asked_before = True
            time.sleep(0.1)
        else:
            return True
