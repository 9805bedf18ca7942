"""Installations of the chart: several on one cluster, by suffix, namespace and version."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.e2e.support.api import Api, ApiError, Object, unless
from tests.e2e.support.chart_text import parsed
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
        """Return whether the API server trusts the webhook everywhere, and creations work."""
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
        """Upgrade the release to the present chart."""
        self.helm("upgrade", "--wait", "--timeout=280s", *flags).ok()

    def uninstall(self) -> None:
        """Uninstall the release."""
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
        """Forget both processes; they are made anew with tokens of the present installation."""
        for name in ("controller", "webhook"):
            self.__dict__.pop(name, None)

    @cached_property
    def controller(self) -> Controller:
        """Return the controller; it is not started."""
        return self.another_controller("controller")

    def another_controller(self, name: str, **variables: str) -> Controller:
        """Return a further controller; it is not started."""
        token = self.cluster.token(self.namespace, SERVICE_ACCOUNT)
        return Controller(token, self._log(name), **self._variables | variables)

    @cached_property
    def webhook(self) -> Webhook:
        """Return the webhook; it is not started."""
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
        """Return the publisher for a database; it is not started."""
        token = self.cluster.token(self.namespace, LEDGER_ACCOUNT)
        return Publisher(token, self._log("ledger"), url, **self._variables)

    @property
    def group(self) -> str:
        """Return its API group."""
        return f"tenancy.{self.suffix}"

    @property
    def prefix(self) -> str:
        """Return the prefix of the instance's cluster-wide names."""
        return "lnamespace" if self.suffix == DEFAULT_SUFFIX else f"lnamespace.{self.suffix}"

    @property
    def crd(self) -> str:
        """Return the path of the instance's CustomResourceDefinition."""
        return f"{_CRDS}/lnamespaces.{self.group}"

    def sudoers_group(self, name: str) -> str:
        """Return the group that the sudoers of an LNamespace impersonate."""
        return f"{name}-sudoers" + ("" if self.suffix == DEFAULT_SUFFIX else f".{self.suffix}")

    def path(self, name: str = "") -> str:
        """Return the path of the instance's LNamespaces, or of one of them."""
        return f"/apis/{self.group}/v1beta1/lnamespaces" + (f"/{name}" if name else "")

    def create(self, name: str, client: Api | None = None, /, **spec: Any) -> Object:
        """Create an LNamespace, not waiting for anything."""
        body = manifest(name, **spec) | {"apiVersion": f"{self.group}/v1beta1"}
        return (client or self.cluster.admin).create(self.path(), body)

    def served(self) -> bool:
        """Return whether discovery shows the kinds, which it does a moment after they exist."""
        groups = {group["name"] for group in self.cluster.admin.get("/apis")["groups"]}
        if self.group not in groups:
            return False
        found = self.cluster.admin.find(f"/apis/{self.group}/v1beta1") or {"resources": []}
        return "lnamespaces" in {resource["name"] for resource in found["resources"]}

    def refuses(self, name: str) -> bool:
        """Return whether nobody could create an LNamespace of a name."""
        body = manifest(name, managers=["somebody"]) | {"apiVersion": f"{self.group}/v1beta1"}
        return not unless("Forbidden", self.cluster.admin.create, self.path(), body, dryRun="All")

    def get(self, name: str) -> Object:
        """Read an LNamespace."""
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
        """Return the kind, the namespace and the name of each object of the release."""
        command = ("helm", "get", "manifest", self.release, "-n", self.namespace)
        found = parsed(self.cluster.run(*command).ok())
        return {
            (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
            for item in found
        }

    def trusted(self) -> bool:
        """Return whether a CA of the webhook's is in all places where the API server looks."""
        admin = self.cluster.admin
        clients = [admin.get(self.crd)["spec"]["conversion"]["webhook"]["clientConfig"]]
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            entries = admin.get(f"{_REGISTRATION}/{kind}/{self.prefix}-webhook")["webhooks"]
            clients += [entry["clientConfig"] for entry in entries]
        return all("caBundle" in client for client in clients)

    def answers(self) -> bool:
        """Return whether an LNamespace can be created."""
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
        """Return whether the policies are in force; they are a moment after they are created."""
        try:
            self.cluster.admin.delete(self.crd, dryRun="All")
        except ApiError as error:
            return "it would delete every LNamespace" in error.message
        return False

    def no_defect(self) -> None:
        """Fail if a process of the instance logged an unexpected error."""
        for process in self._known():
            assert process.defect not in process.log()

    def _known(self) -> list[Process]:
        """Return the processes that were ever asked for, in the order in which they are stopped."""
        return [self.__dict__[name] for name in ("controller", "webhook") if name in self.__dict__]

    @property
    def _variables(self) -> dict[str, str]:
        return {"LNAMESPACE_API_GROUP_SUFFIX": self.suffix, **self.variables}

    def _log(self, name: str) -> Path:
        return self.cluster.folder.parent / f"{self.release}-{name}.log"


@contextmanager
def bare(folder: Path, audit_policy: str = "") -> Iterator[Instance]:
    """Yield an instance that is not installed yet, on a cluster of its own."""
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
