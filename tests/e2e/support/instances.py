"""Installations of the chart: several on one cluster, by suffix, namespace and version."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.support.api import Api, ApiError, Object, unless
from tests.e2e.support.cluster import LEDGER_ACCOUNT, SERVICE_ACCOUNT, WEBHOOK_ACCOUNT, Cluster
from tests.e2e.support.commands import REPOSITORY, Result
from tests.e2e.support.processes import (
    Controller,
    Process,
    Publisher,
    Webhook,
    free_port,
    yet_to_answer,
)
from tests.e2e.support.tenants import condition, manifest
from tests.e2e.support.waiting import eventually

CHART = REPOSITORY / "charts" / "lnamespace"
DEFAULT_SUFFIX = "loblaw.digital"

_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class InstanceWebhook(Webhook):
    """A webhook whose configurations are those of its instance."""

    instance: "Instance"

    def ready(self, log: str) -> bool:
        """Whether the API server trusts it everywhere, and it lets somebody in."""
        return "listening" in log and self.instance.trusted() and self.instance.answers()


@dataclass
class Instance:
    """One release of the chart, with its processes outside of the cluster."""

    cluster: Cluster
    suffix: str = DEFAULT_SUFFIX
    namespace: str = "lnamespace-system"
    release: str = "lnamespace"
    chart: Path = CHART
    port: int = field(default_factory=free_port)
    variables: dict[str, str] = field(default_factory=dict)
    """Those of all of its processes."""

    def helm(self, verb: str, *flags: str) -> Result:
        """Install or upgrade it."""
        outside = {
            "apiGroupSuffix": self.suffix,
            "controller.deploy": "false",
            "ledger.deploy": "false",
            "webhook.deploy": "false",
            "webhook.url": f"https://127.0.0.1:{self.port}",
        }
        values = [f"--set={name}={value}" for name, value in outside.items()]
        words = (verb, self.release, str(self.chart), "--namespace", self.namespace)
        return self.cluster.run("helm", *words, *values, *flags)

    def install(self, *flags: str) -> None:
        """Install it from nothing."""
        self.helm("install", "--create-namespace", "--wait", "--timeout=280s", *flags).ok()

    def upgrade(self, *flags: str) -> None:
        """Upgrade it to the chart as it is now."""
        self.helm("upgrade", "--wait", "--timeout=280s", *flags).ok()

    def uninstall(self) -> None:
        """Uninstall it."""
        self.cluster.run("helm", "uninstall", self.release, "-n", self.namespace, "--wait").ok()

    def start(self) -> None:
        """Start the webhook and the controller."""
        self.webhook.start()
        self.controller.start()

    def stop(self) -> None:
        """Stop whatever runs."""
        for process in self._known():
            process.stop()

    def forget(self) -> None:
        """Have both processes made anew with tokens of what is installed now."""
        for name in ("controller", "webhook"):
            self.__dict__.pop(name, None)

    @cached_property
    def controller(self) -> Controller:
        """Its controller; not started."""
        return self.another_controller("controller")

    def another_controller(self, name: str, **variables: str) -> Controller:
        """A further controller; not started."""
        token = self.cluster.token(self.namespace, SERVICE_ACCOUNT)
        return Controller(token, self._log(name), **self._variables | variables)

    @cached_property
    def webhook(self) -> Webhook:
        """Its webhook; not started."""
        token = self.cluster.token(self.namespace, WEBHOOK_ACCOUNT)
        variables = self._variables | {
            "LNAMESPACE_CERTIFICATE_SECRET": f"{self.namespace}/{WEBHOOK_ACCOUNT}-certificate"
        }
        made = InstanceWebhook(
            token, self._log("webhook"), self.cluster.admin, self.port, **variables
        )
        made.instance = self
        return made

    def publisher(self, url: str) -> Publisher:
        """Its ledger's process for a database; not started."""
        token = self.cluster.token(self.namespace, LEDGER_ACCOUNT)
        return Publisher(token, self._log("ledger"), url, **self._variables)

    @property
    def group(self) -> str:
        """Its API group."""
        return f"tenancy.{self.suffix}"

    @property
    def prefix(self) -> str:
        """What its cluster-wide names begin with."""
        return "lnamespace" if self.suffix == DEFAULT_SUFFIX else f"lnamespace.{self.suffix}"

    @property
    def crd(self) -> str:
        """Where its CustomResourceDefinition is."""
        return f"{_CRDS}/lnamespaces.{self.group}"

    def sudoers_group(self, name: str) -> str:
        """The group that the sudoers of an LNamespace become."""
        return f"{name}-sudoers" + ("" if self.suffix == DEFAULT_SUFFIX else f".{self.suffix}")

    def path(self, name: str = "") -> str:
        """Where its LNamespaces are, or one of them."""
        return f"/apis/{self.group}/v1beta1/lnamespaces" + (f"/{name}" if name else "")

    def create(self, name: str, client: Api | None = None, /, **spec: Any) -> Object:
        """Create an LNamespace, not waiting for anything."""
        body = manifest(name, **spec) | {"apiVersion": f"{self.group}/v1beta1"}
        return (client or self.cluster.admin).create(self.path(), body)

    def served(self) -> bool:
        """Whether clients that ask what the cluster has are told of it: a moment after it is."""
        groups = {group["name"] for group in self.cluster.admin.get("/apis")["groups"]}
        if self.group not in groups:
            return False
        found = self.cluster.admin.find(f"/apis/{self.group}/v1beta1") or {"resources": []}
        return "lnamespaces" in {resource["name"] for resource in found["resources"]}

    def refuses(self, name: str) -> bool:
        """Whether it would let nobody create an LNamespace of that name."""
        body = manifest(name, managers=["somebody"]) | {"apiVersion": f"{self.group}/v1beta1"}
        return not unless("Forbidden", self.cluster.admin.create, self.path(), body, dryRun="All")

    def get(self, name: str) -> Object:
        """Look at one."""
        return self.cluster.admin.get(self.path(name))

    def wait(self, name: str, status: str = "True", reason: str = "Ready") -> Object:
        """Wait until its readiness is as said."""

        def said() -> Object:
            lns = self.get(name)
            ready = condition(lns)
            assert (ready.get("status"), ready.get("reason")) == (status, reason), str(ready)
            return lns

        return eventually(said)

    def make(self, name: str, /, **spec: Any) -> Object:
        """Create one and wait until it is ready."""
        self.create(name, **spec)
        return self.wait(name)

    def objects(self) -> set[tuple[str, str, str]]:
        """What the release consists of: kind, namespace and name of each object."""
        command = ("helm", "get", "manifest", self.release, "-n", self.namespace)
        found = yaml.safe_load_all(self.cluster.run(*command).ok())
        return {
            (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
            for item in found
            if item
        }

    def trusted(self) -> bool:
        """Whether a CA of the webhook's is in all places where the API server looks."""
        admin = self.cluster.admin
        clients = [admin.get(self.crd)["spec"]["conversion"]["webhook"]["clientConfig"]]
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            entries = admin.get(f"{_REGISTRATION}/{kind}/{self.prefix}-webhook")["webhooks"]
            clients += [entry["clientConfig"] for entry in entries]
        return all("caBundle" in client for client in clients)

    def answers(self) -> bool:
        """Whether an LNamespace can be created."""
        body = manifest("knock-knock", managers=["somebody"])
        body["apiVersion"] = f"{self.group}/v1beta1"
        try:
            self.cluster.admin.create(self.path(), body, dryRun="All")
        except ApiError as error:
            if yet_to_answer(error):
                return False
            raise
        return True

    def guarded(self) -> bool:
        """Whether its policies act: they do so a moment after they are made."""
        try:
            self.cluster.admin.delete(self.crd, dryRun="All")
        except ApiError as error:
            return "it would delete every LNamespace" in error.message
        return False

    def no_defect(self) -> None:
        """Fail if a process of it met something that it was not written for."""
        for process in self._known():
            assert process.defect not in process.log()

    def _known(self) -> list[Process]:
        """The processes that were ever asked for, in the order in which they are stopped."""
        return [self.__dict__[name] for name in ("controller", "webhook") if name in self.__dict__]

    @property
    def _variables(self) -> dict[str, str]:
        return {"LNAMESPACE_API_GROUP_SUFFIX": self.suffix, **self.variables}

    def _log(self, name: str) -> Path:
        return self.cluster.folder.parent / f"{self.release}-{name}.log"


@contextmanager
def bare(folder: Path, audit_policy: str = "") -> Iterator[Instance]:
    """An instance that is yet to be installed, on a cluster of its own; nothing is left of it."""
    cluster = Cluster(folder)
    if audit_policy:
        cluster.keep_audit_log(audit_policy)
    try:
        cluster.up()
        instance = Instance(cluster)
        try:
            yield instance
        finally:
            instance.stop()
        instance.no_defect()
    finally:
        cluster.down()
