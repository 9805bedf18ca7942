"""Clients that keep up with ConfigMaps: client-go's informer, the Python client, plain requests.

What a client was told is judged by `Told`: each object came before it went, and none came back.
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from controlplane import golang
from controlplane.versions import pinned
from kubernetes import client, config, watch

from tests.e2e.support.api import Api, ApiError, Object, Unreachable
from tests.e2e.support.commands import environment
from tests.e2e.support.waiting import eventually

Store = dict[str, str]
"""The uid and the resource version of each object, by namespace and name."""


@dataclass
class Told:
    """The events that a client received of each object, by uid, in their order."""

    events: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def note(self, event: str, uid: str, version: str) -> None:
        """Note an event."""
        self.events.setdefault(uid, []).append((event, int(version)))

    def created(self) -> set[str]:
        """Return the objects that the client received as new."""
        return {uid for uid, told in self.events.items() if told[0][0] == "ADDED"}

    def deleted(self) -> set[str]:
        """Return the objects whose deletion was the last event that the client received of them."""
        gone = ("DELETED", "MISSED")
        return {uid for uid, told in self.events.items() if told[-1][0] in gone}

    def disordered(self, uids: set[str]) -> list[object]:
        """Return the objects whose events came in another order, each event counted once.

        After a watch was resumed, a client may receive an event a second time. client-go's
        informer, which has the object then, reports the first version as a change of it.
        """
        told = {uid: [version for _, version in self.events.get(uid, [])] for uid in uids}
        first = {uid: list(dict.fromkeys(versions)) for uid, versions in told.items()}
        return [(uid, self.events[uid]) for uid, each in first.items() if each != sorted(each)]

    def repeated(self) -> int:
        """Return the number of events that the client received again."""
        return sum(len(told) - len(set(told)) for told in self.events.values())


class Informer(Protocol):
    """A client that keeps up."""

    name: str
    told: Told
    listed: int
    """How often it has begun anew."""

    def store(self) -> Store:
        """Return the objects that exist, as the client sees it."""


def store_of(items: list[Object]) -> Store:
    """Return the objects of a list."""
    return {key: value for key, value, _ in map(_entry, items)}


def _entry(item: Object) -> tuple[str, str, Object]:
    meta = item["metadata"]
    key = f"{meta['namespace']}/{meta['name']}"
    return key, f"{meta['uid']}/{meta['resourceVersion']}", meta


def build_client_go(folder: Path) -> Path:
    """Build the program that has client-go's informer."""
    program, versions = folder / "informer", pinned()
    command = [str(golang.find_go(versions)), "build", "-trimpath", "-o", str(program)]
    build = os.environ | golang.BUILD_SETTINGS
    subprocess.run([*command, "./informer"], cwd=versions.folder, env=build, check=True)
    return program


class ClientGo:
    """The informer of client-go, in a process of its own."""

    def __init__(self, program: Path, kubeconfig: Path, namespace: str, *, lists: bool) -> None:
        self.name = f"client-go in {namespace or 'all'}{', lists' if lists else ''}"
        self.told = Told()
        self.listed = 0
        self._stores: list[Store] = []
        self._turn = threading.Condition()
        setting = {"KUBE_FEATURE_WatchListClient": "false" if lists else "true"}
        self._process = subprocess.Popen(
            [program, *([namespace] if namespace else [])],
            env=environment({"KUBECONFIG": str(kubeconfig), **setting}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.synced = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def store(self) -> Store:
        """Return the objects that exist, as the client sees it."""
        assert self._process.stdin is not None
        with self._turn:
            before = len(self._stores)
            self._process.stdin.write("store\n")
            self._process.stdin.flush()
            assert self._turn.wait_for(lambda: len(self._stores) > before, 60)
            return self._stores[-1]

    def stop(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            told = json.loads(line)
            if told["event"] == "synced":
                self.synced.set()
            elif told["event"] == "listing":
                self.listed += 1
            elif told["event"] == "store":
                with self._turn:
                    self._stores.append(told.get("store", {}))
                    self._turn.notify_all()
            else:
                self.told.note(told["event"], told["uid"], told["version"])


class _InThread:
    """A client that keeps up in a thread of this process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.told = Told()
        self.synced = threading.Event()
        self.listed = 0
        self._objects: Store = {}
        self._version = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def store(self) -> Store:
        """Return the objects that exist, as the client sees it."""
        return dict(self._objects)

    def stop(self) -> None:
        """Stop the thread once its watch has ended."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            with suppress(ApiError, Unreachable, OSError, HTTPException, _Expired):
                if not self._version:
                    self._list()
                self.synced.set()
                self._watch()
            time.sleep(0.05)

    def _list(self) -> None:
        raise NotImplementedError

    def _watch(self) -> None:
        raise NotImplementedError

    def _begin(self, items: list[Object], version: str) -> None:
        """Read a list; objects that are not in it any more are deleted."""
        self.listed += 1
        found = {value: (key, meta) for key, value, meta in map(_entry, items)}
        before = {value.split("/")[0] for value in self._objects.values()}
        now = {value.split("/")[0] for value in found}
        for uid in before - now:
            self.told.note("MISSED", uid, version)
        for value, (key, meta) in found.items():
            if value not in self._objects.values():
                event = "MODIFIED" if meta["uid"] in before else "ADDED"
                self.told.note(event, meta["uid"], meta["resourceVersion"])
            del key
        self._objects = {key: value for value, (key, _) in found.items()}
        self._version = version

    def _take(self, event: Object) -> None:
        """Read an event; one that a resumed watch repeats is not a change."""
        kind, item = event["type"], event["object"]
        if kind == "ERROR":
            self._version = ""
            raise _Expired
        version = item["metadata"]["resourceVersion"]
        self._version = version
        if kind == "BOOKMARK":
            return
        key, value, meta = _entry(item)
        known = self._objects.get(key, "/0").rpartition("/")
        if int(known[2]) >= int(version) or self._is_past(meta["uid"], version):
            return
        self.told.note(kind, meta["uid"], version)
        if kind == "DELETED":
            self._objects.pop(key, None)
        else:
            self._objects[key] = value

    def _is_past(self, uid: str, version: str) -> bool:
        told = self.told.events.get(uid)
        return bool(told and told[-1][1] >= int(version))


class _Expired(Exception):
    """The place is lost."""


class Reflector(_InThread):
    """A list and a watch by plain requests, with bookmarks."""

    def __init__(self, api: Api, path: str) -> None:
        self._api, self._path = api, path
        super().__init__(f"requests to {path}")

    def _list(self) -> None:
        found = self._api.get(self._path)
        self._begin(found["items"], found["metadata"]["resourceVersion"])

    def _watch(self) -> None:
        query = {"watch": "true", "resourceVersion": self._version}
        query |= {"allowWatchBookmarks": "true", "timeoutSeconds": "20"}
        try:
            for event in self._api.stream(f"{self._path}?{urlencode(query)}"):
                self._take(event)
        except ApiError as error:
            if error.status == 410:
                self._version = ""
            raise


class PythonClient(_InThread):
    """The watch of Kubernetes' Python client."""

    def __init__(self, kubeconfig: Path) -> None:
        made = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
        self._core: Any = client.CoreV1Api(made)
        super().__init__("the Python client")

    def _list(self) -> None:
        with suppress(client.ApiException):
            found = self._core.list_config_map_for_all_namespaces(_preload_content=False)
            read = json.loads(found.data)
            self._begin(read["items"], read["metadata"]["resourceVersion"])

    def _watch(self) -> None:
        if not self._version:
            return
        try:
            events = watch.Watch().stream(  # type: ignore[no-untyped-call]
                self._core.list_config_map_for_all_namespaces,
                resource_version=self._version,
                timeout_seconds=20,
            )
            for event in events:
                raw: dict[str, Any] = event["raw_object"]
                self._take({"type": event["type"], "object": raw})
        except client.ApiException as error:
            if error.status == 410:
                self._version = ""
        except Exception as error:  # of urllib3, which has many
            if not type(error).__module__.startswith("urllib3"):
                raise


@contextmanager
def keeping_up(
    program: Path, kubeconfig: Path, api: Api, namespace: str
) -> Iterator[list[ClientGo | _InThread]]:
    """Yield clients of each kind, in all namespaces and in one."""
    started: list[ClientGo | _InThread] = [
        ClientGo(program, kubeconfig, "", lists=False),
        ClientGo(program, kubeconfig, "", lists=True),
        ClientGo(program, kubeconfig, namespace, lists=False),
        Reflector(api, "/api/v1/configmaps"),
        Reflector(api, f"/api/v1/namespaces/{namespace}/configmaps"),
        PythonClient(kubeconfig),
    ]
    try:
        for each in started:
            eventually(each.synced.is_set, what=f"{each.name} has not listed")
        yield started
    finally:
        for each in started:
            each.stop()
