"""A cluster whose namespaces have guard rails, by a file that tests change."""

from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.support.api import ns_path
from tests.e2e.support.cluster import RELEASE_NAMESPACE, SERVICE_ACCOUNT, Cluster
from tests.e2e.support.processes import Controller

Profile = dict[str, Any]

DEFAULT: Profile = {
    # Not as the API server writes it: it would be 2, and 1500m.
    "resourceQuota": {
        "hard": {"count/configmaps": "2", "requests.cpu": "2000m", "limits.cpu": 1.5}
    },
    "limitRange": {"limits": [{"type": "Container", "default": {"cpu": "0.5"}}]},
    "networkPolicy": {"podSelector": {}, "ingress": []},
    "labels": {"example.com/mesh": "on", "pod-security.kubernetes.io/enforce": "baseline"},
}
BIG: Profile = {"resourceQuota": {"hard": {"count/configmaps": "50"}}}
PROFILES = {"default": DEFAULT, "big": BIG, "plain": {}}
REQUIRED = {"data-class": "public|secret"}
FORBIDDEN = ["forbidden.example.com/", "sneaky"]

KINDS = ("resourcequotas", "limitranges", "networkpolicies")


def profile_object_path(kind: str, namespace: str, name: str = "lnamespace") -> str:
    """Return the path of a profile object; of all of a kind without a name."""
    if kind != "networkpolicies":
        return ns_path(namespace, kind, name)
    path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/{kind}"
    return f"{path}/{name}" if name else path


class ProfilesCluster(Cluster):
    """A cluster with profiles in the chart's values, which a controller reads from a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.profiles = folder / "profiles.yaml"
        self._values = folder / "values.yaml"
        self.tell(PROFILES)

    def tell(self, profiles: dict[str, Any] | str) -> None:
        """Change the controller's file in one step, as a ConfigMap's changes."""
        text = profiles if isinstance(profiles, str) else yaml.safe_dump(profiles)
        other = self.profiles.with_suffix(".new")
        other.write_text(text)
        other.replace(self.profiles)

    def helm(self, verb: str, *flags: str) -> None:
        """Install or upgrade; from then on labels are required, and `plain` is no more."""
        values: dict[str, Any] = {"profiles": PROFILES, "forbiddenLabels": FORBIDDEN}
        if verb == "upgrade":
            values["requiredLabels"] = REQUIRED
            values["profiles"] = {name: p for name, p in PROFILES.items() if name != "plain"}
        self._values.write_text(yaml.safe_dump(values))
        super().helm(verb, "--values", str(self._values), *flags)

    @cached_property
    def controller(self) -> Controller:
        """Return the controller; it is not started."""
        return Controller(
            self.token(RELEASE_NAMESPACE, SERVICE_ACCOUNT),
            self._logs / "controller.log",
            LNAMESPACE_PROFILES_FILE=str(self.profiles),
            LNAMESPACE_REQUIRED_LABELS=",".join(REQUIRED),
            LNAMESPACE_FORBIDDEN_LABELS=",".join(FORBIDDEN),
        )
