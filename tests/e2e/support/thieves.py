"""Requests that guards refuse, asked all the time while the chart is installed, changed, removed.

Each asker is a thread. What is accepted is kept in ``accepted``: there must be nothing.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.support.api import (
    JSON_PATCH,
    RBAC,
    Api,
    ApiError,
    Object,
    Unreachable,
    ns_path,
    rbac_path,
)
from tests.e2e.support.cluster import LEDGER_ACCOUNT, SERVICE_ACCOUNT, WEBHOOK_ACCOUNT
from tests.e2e.support.gateway import GATEWAY_ACCOUNT
from tests.e2e.support.instances import Instance
from tests.e2e.support.people import Person
from tests.e2e.support.tenants import manifest

_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"

_PAUSE = 0.01
"""Seconds: hundreds of requests in the second in which a guard is not seen, and time for others."""

Ask = Callable[[Api], Object | None]
"""Sends one request; returns what must not have been accepted, or None."""


@dataclass
class Asked:
    """The requests, their answers, and which of them were accepted."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    accepted: list[tuple[str, Object]] = field(default_factory=list)

    def of(self, what: str) -> int:
        """Return how often a request was sent and answered by the API server."""
        return sum(n for (name, _), n in list(self.answers.items()) if name == what)


@contextmanager
def asking(
    instance: Instance, mallory: Person, stolen: Mapping[str, Mapping[str, Ask]] | None = None
) -> Iterator[Asked]:
    """Send requests from several threads while the block runs.

    ``stolen`` are those by each ServiceAccount; None means those that every release has.
    """
    asked, done = Asked(), threading.Event()
    thieves = [
        threading.Thread(target=_ask, args=(lambda: mallory.api, asks, asked, done))
        for asks in (_forged(instance), _forged(instance))
    ]
    for account, tried in (stolen or _stolen(instance)).items():
        token = Token(instance, account)
        thieves.append(threading.Thread(target=_ask, args=(token.api, tried, asked, done)))
    with ExitStack() as stack:
        for thief in thieves:
            thief.start()
            stack.callback(thief.join)
        stack.callback(done.set)
        yield asked


def _ask(
    api: Callable[[], Api | None],
    asks: Mapping[str, Ask],
    asked: Asked,
    done: threading.Event,
) -> None:
    for what, ask in cycle(asks.items()):
        if done.wait(_PAUSE):
            return
        try:
            client = api()
            if client is None:
                continue
            if (found := ask(client)) is not None:
                asked.accepted.append((what, found))
            asked.answers[what, 200] += 1
        except ApiError as error:
            asked.answers[what, error.status] += 1
        except Unreachable:
            continue


class Token:
    """A client that acts as a ServiceAccount, from the moment at which that exists."""

    def __init__(self, instance: Instance, account: str) -> None:
        self._instance = instance
        self._account = ns_path(instance.namespace, "serviceaccounts", account)
        self._file = instance.cluster.folder.parent / f"stolen-{account}"
        self._uid = ""
        self._api: Api | None = None
        self._uses = 0

    def api(self) -> Api | None:
        """Return the account's client; None while it does not exist. A new one has new tokens."""
        self._uses += 1
        if self._api is None or self._uses % 50 == 0:
            found = self._instance.cluster.admin.find(self._account)
            uid = found["metadata"]["uid"] if found else ""
            if uid and uid != self._uid:
                self._api = self._log_in()
            self._uid = uid
        return self._api

    def _log_in(self) -> Api:
        cluster = self._instance.cluster
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = cluster.admin.create(f"{self._account}/token", body)
        document = yaml.safe_load(Path(cluster.environment["KUBECONFIG"]).read_text())
        document["users"][0]["user"] = {"token": made["status"]["token"]}
        self._file.write_text(yaml.safe_dump(document))
        return Api(self._file)


_numbers = count()


def _forged(instance: Instance) -> dict[str, Ask]:
    """Try what an ordinary person may not, for real: nothing forged may ever be stored."""

    def create(**spec: Any) -> Object:
        body = manifest(f"forged-{next(_numbers)}", users=["mallory"], **spec)
        return body | {"apiVersion": f"{instance.group}/v1beta1"}

    def requester(api: Api) -> Object | None:
        made = api.create(instance.path(), create(requester="victim"))
        return made if made["spec"]["requester"] != "mallory" else None

    def payer(api: Api) -> Object | None:
        provenance = {
            "generation": 1,
            "effectiveAt": "2026-01-01T00:00:00.000000Z",
            "source": "Explicit",
            "changedBy": "victim",
        }
        billing = {"costCenter": "4711", "provenance": provenance}
        made = api.create(instance.path(), create(requester="mallory", billing=billing))
        return made if made["spec"]["billing"].get("provenance") == provenance else None

    def reserved(api: Api) -> Object:
        body = manifest("vault", requester="mallory", users=["mallory"])
        body["apiVersion"] = f"{instance.group}/v1beta1"
        return api.create(instance.path(), body)

    return {"requester": requester, "payer": payer, "reserved": reserved}


def _stolen(instance: Instance) -> dict[str, dict[str, Ask]]:
    """Try what a thief of each ServiceAccount's token may not, by dry runs."""
    return {
        SERVICE_ACCOUNT: _as_controller(instance),
        WEBHOOK_ACCOUNT: _as_webhook(instance),
        LEDGER_ACCOUNT: {
            "record of another event": lambda api: _record(api, instance, "other/1/APPLY"),
            "record that is held": lambda api: _record(
                api, instance, "uid/1/APPLY", finalizers=["example.com/held"]
            ),
        },
    }


def gateway_thieves() -> dict[str, dict[str, Ask]]:
    """Try what a thief of a token may not that has rights with the gateway only, by dry runs."""
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]

    def role(api: Api) -> Object:
        return _try(api, rbac_path("clusterroles"), "ClusterRole", "thief", rules=everything)

    def namespace(api: Api) -> Object:
        return _try(api, "/api/v1/namespaces", "Namespace", "thief")

    def service(api: Api) -> Object:
        spec = {"clusterIP": "None", "ports": [{"port": 443}]}
        return _try(api, ns_path("default", "services"), "Service", "thief", spec=spec)

    return {
        GATEWAY_ACCOUNT: {"role of no LCluster": role, "namespace of no LCluster": namespace},
        SERVICE_ACCOUNT: {"service of no LCluster": service},
    }


def _as_controller(instance: Instance) -> dict[str, Ask]:
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    me = {"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": instance.namespace}

    def role(api: Api) -> Object:
        return _try(api, rbac_path("clusterroles"), "ClusterRole", "thief", rules=everything)

    def editor(api: Api) -> Object:
        name = f"{instance.prefix}:team-a:editor"
        return _try(api, rbac_path("clusterroles"), "ClusterRole", name, rules=everything)

    def bind(api: Api) -> Object:
        reference = {"kind": "ClusterRole", "name": "cluster-admin"}
        path = rbac_path("clusterrolebindings")
        return _try(api, path, "ClusterRoleBinding", "thief", roleRef=reference, subjects=[me])

    def system(api: Api) -> Object:
        reference = {"kind": "ClusterRole", "name": "cluster-admin"}
        path = rbac_path("rolebindings", namespace="kube-system")
        return _try(api, path, "RoleBinding", "thief", roleRef=reference, subjects=[me])

    def namespace(api: Api) -> Object:
        return _try(api, "/api/v1/namespaces", "Namespace", "kube-thief")

    asks: dict[str, Ask] = {
        "any ClusterRole": role,
        "editor of everything": editor,
        "cluster-admin": bind,
        "cluster-admin in kube-system": system,
        "Namespace kube-thief": namespace,
    }
    return asks


def _as_webhook(instance: Instance) -> dict[str, Ask]:
    def token(api: Api) -> Object:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/service-account-token",
            "metadata": {
                "name": "thief",
                "annotations": {"kubernetes.io/service-account.name": SERVICE_ACCOUNT},
            },
        }
        return api.create(ns_path(instance.namespace, "secrets"), body, dryRun="All")

    def blind(api: Api) -> Object:
        path = f"{_REGISTRATION}/mutatingwebhookconfigurations/{instance.prefix}-webhook"
        change = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
        return api.patch(path, change, JSON_PATCH, dryRun="All")

    def weaken(api: Api) -> Object:
        change = [{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}]
        return api.patch(instance.crd, change, JSON_PATCH, dryRun="All")

    return {
        "token of another account": token,
        "webhook that is not asked": blind,
        "no conversion": weaken,
        "record of an end": lambda api: _record(api, instance, "uid/DELETE", operation="DELETE"),
    }


def _record(
    api: Api, instance: Instance, event: str, operation: str = "APPLY", **meta: Any
) -> Object:
    body = {
        "apiVersion": f"{instance.group}/v1beta1",
        "kind": "BillingRecord",
        "metadata": {"name": event.lower().replace("/", "."), **meta},
        "spec": {
            "eventId": event,
            "operation": operation,
            "namespace": "team-a",
            "lnamespaceUID": "uid",
            "generation": 1,
            "validFrom": "2026-01-01T00:00:00Z",
            "recordedAt": "2026-01-01T00:00:00Z",
        },
    }
    return api.create(instance.path().replace("lnamespaces", "billingrecords"), body, dryRun="All")


def _try(api: Api, path: str, kind: str, name: str, **rest: Any) -> Object:
    version = "v1" if kind in ("Namespace", "Service") else RBAC.removeprefix("/apis/")
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **rest}
    return api.create(path, body, dryRun="All")
