"""LNamespaces: made, changed and looked at through the API."""

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.e2e.support.api import GROUP, LNAMESPACES, NAMESPACES, Api, Object, lns_path
from tests.e2e.support.waiting import PATIENCE, eventually

LISTS = ("users", "managers", "sudoers")

Entry = str | Object


def member(entry: Entry) -> Object:
    """Return an entry of a list: a user's name, or the entry as it is."""
    return {"kind": "User", "name": entry} if isinstance(entry, str) else entry


def group(name: str) -> Object:
    """Return a group as an entry."""
    return {"kind": "Group", "name": name}


def service_account(namespace: str, name: str) -> Object:
    """Return a service account as an entry."""
    return {"kind": "ServiceAccount", "namespace": namespace, "name": name}


def ending(entry: Entry, end: datetime) -> Object:
    """Return an entry that ends by itself."""
    return member(entry) | {"expiresAt": end.astimezone(UTC).isoformat().replace("+00:00", "Z")}


def soon(seconds: float) -> datetime:
    """Return a moment from now."""
    return datetime.now(UTC) + timedelta(seconds=seconds)


def manifest(name: str, /, **spec: Any) -> Object:
    """Return an LNamespace; in the lists a plain name is a user."""
    built = {k: [*map(member, v)] if k in LISTS else v for k, v in spec.items()}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": name},
        "spec": built,
    }


def condition(lns: Object, type_: str = "Ready") -> Object:
    """Return a condition of the status as it is now; empty where it is of an older generation."""
    status = lns.get("status", {})
    if status.get("observedGeneration") != lns["metadata"]["generation"]:
        return {}
    found = (item for item in status.get("conditions", ()) if item["type"] == type_)
    return next(found, {})


class Tenants:
    """The LNamespaces of one cluster, by an administrator's hand."""

    def __init__(self, admin: Api) -> None:
        self.admin = admin
        self._numbers = itertools.count(1)

    def name(self, stem: str) -> str:
        """Return a name that no other test has."""
        return f"{stem}-{next(self._numbers)}"

    def account(self, namespace: str, name: str) -> Object:
        """Return a service account as an entry, which there is: made if need be."""
        path = f"{NAMESPACES}/{namespace}/serviceaccounts"
        if self.admin.find(f"{path}/{name}") is None:
            self.admin.create(path, {"metadata": {"name": name}})
        return service_account(namespace, name)

    def create(self, name: str, /, **spec: Any) -> Object:
        """Create one, not waiting for anything."""
        return self.admin.create(LNAMESPACES, manifest(name, **spec))

    def make(self, stem: str, /, **spec: Any) -> str:
        """Create one with a new name, and wait until it is ready."""
        name = self.name(stem)
        self.create(name, **spec)
        self.ready(name)
        return name

    def get(self, name: str) -> Object:
        """Read an LNamespace."""
        return self.admin.get(lns_path(name))

    def edit(self, name: str, /, **spec: Any) -> Object:
        """Change fields of the spec; a list is replaced."""
        built = manifest(name, **spec)["spec"]
        return self.admin.patch(lns_path(name), {"spec": built})

    def delete(self, name: str) -> None:
        """Delete one."""
        self.admin.delete(lns_path(name))

    def ready(self, name: str, deadline: float = PATIENCE) -> Object:
        """Wait until the controller says that it is as its spec says."""

        def is_ready() -> Object | None:
            lns = self.get(name)
            ready = condition(lns)
            assert ready.get("status") == "True", f"{name} is not ready: {lns.get('status')}"
            return lns

        found = eventually(is_ready, deadline)
        assert found is not None
        return found

    def unready(self, name: str, reason: str, deadline: float = PATIENCE) -> Object:
        """Wait until the controller says that it is not ready, for that reason."""

        def is_unready() -> Object | None:
            lns = self.get(name)
            ready = condition(lns)
            told = (ready.get("status"), ready.get("reason"))
            assert told == ("False", reason), f"{name}: {lns.get('status')}"
            return lns

        found = eventually(is_unready, deadline)
        assert found is not None
        return found

    def all_ready(self, names: Iterable[str], deadline: float = 2 * PATIENCE) -> None:
        """Wait until all of them are ready."""
        wanted = set(names)

        def are_ready() -> bool:
            items = self.admin.items(LNAMESPACES)
            known = {
                item["metadata"]["name"]
                for item in items
                if condition(item).get("status") == "True"
            }
            assert wanted <= known, f"not ready: {sorted(wanted - known)[:10]}"
            return True

        eventually(are_ready, deadline, tick=0.1)
