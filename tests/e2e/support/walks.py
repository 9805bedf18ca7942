"""A walk over everything that a tenant is served, which keeps the bytes of every answer."""

import json
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus

from tests.e2e.support.api import APPLY, JSON, JSON_PATCH, MERGE, NAMESPACES, Answer, Api, Object

_AT_A_TIME = 12
_DOCUMENTS = ("/version", "/api", "/apis", "/openapi/v2", "/openapi/v3", "/healthz?verbose")
_ENCODINGS = (
    JSON,
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf,application/json;q=0.5",
)
_QUERIES = ("", "limit=1", "watch=1&timeoutSeconds=1", "watch=1&timeoutSeconds=1&resourceVersion=0")


@dataclass(frozen=True)
class Step:
    """One request of a walk."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass
class Walk:
    """The answers that somebody had, and which of them have words in them that they must not."""

    words: tuple[str, ...]
    leaks: list[str] = field(default_factory=list)
    codes: set[int] = field(default_factory=set)
    steps: int = 0

    def take(self, step: Step, answer: Answer) -> None:
        """Note an answer."""
        self.steps += 1
        self.codes.add(answer.status)
        text = answer.text.lower()
        for word in self.words:
            if (place := text.find(word)) >= 0:
                around = text[max(0, place - 80) : place + 80]
                self.leaks.append(f"{step} ({answer.status}): ...{around}...")


def walk(api: Api, steps: Iterable[Step], words: tuple[str, ...]) -> Walk:
    """Take all steps in a random order, several at a time."""
    found = Walk(words)
    ordered = list(steps)
    random.Random(36).shuffle(ordered)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        answers = pool.map(lambda step: _answer(api, step), ordered)
        for step, answer in zip(ordered, answers, strict=True):
            found.take(step, answer)
    return found


def reads(api: Api) -> Iterator[Step]:
    """Yield every document, and lists and watches of everything that is served."""
    for path in _DOCUMENTS:
        yield Step("GET", path)
    for group in api.get("/openapi/v3")["paths"]:
        yield Step("GET", f"/openapi/v3/{group}")
    for number, (path, plural) in enumerate(_resources(api)):
        for index, query in enumerate(_QUERIES):
            accept = _ENCODINGS[(number + index) % len(_ENCODINGS)]
            yield Step("GET", f"{path}/{plural}?{query}", b"", (("Accept", accept),))
        yield Step("GET", f"{path}/{plural}/nobody")
        yield Step("GET", f"{path}/namespaces/nowhere/{plural}")
        yield Step("GET", f"{path}/{plural}?resourceVersion=1&resourceVersionMatch=Exact")
        yield Step("GET", f"{path}/{plural}?limit=1&continue=bm9ib2R5")
    for namespace in api.items(NAMESPACES):
        name = namespace["metadata"]["name"]
        for kind in ("configmaps", "secrets", "events", "serviceaccounts"):
            yield Step("GET", f"{NAMESPACES}/{name}/{kind}")


def errors() -> Iterator[Step]:
    """Yield requests that provoke an error of each kind."""
    maps, roles = f"{NAMESPACES}/default/configmaps", "/apis/rbac.authorization.k8s.io/v1"
    for path in (NAMESPACES, maps, f"{roles}/clusterroles", f"{roles}/namespaces/default/roles"):
        yield Step("POST", path, b"{", _of(JSON))
        yield Step("POST", path, b"{}", _of("text/plain"))
        yield Step("POST", path, b'{"metadata":{"name":"Not_A_Name"},"rules":1}', _of(JSON))
        yield Step("POST", path, b'{"metadata":{"name":"default"}}', _of(JSON))
        yield Step("POST", path, b'{"metadata":{"name":"default"}}', _of(JSON))
        yield Step("PUT", path, b"{}", _of(JSON))
        yield Step("GET", f"{path}?limit=1&limit=2")
        yield Step("GET", path, b"", (("Accept", "image/png"),))
        for kind in (MERGE, JSON_PATCH, APPLY, "application/strategic-merge-patch+json"):
            yield Step("PATCH", f"{path}/nobody?fieldManager=me", b"[1]", _of(kind))
    stale = b'{"metadata":{"name":"kube-root-ca.crt","resourceVersion":"1"}}'
    yield Step("PUT", f"{maps}/kube-root-ca.crt", stale, _of(JSON))
    for path, name in ((NAMESPACES, "default"), (maps, "kube-root-ca.crt")):
        for kind in (MERGE, "application/strategic-merge-patch+json"):
            yield Step("PATCH", f"{path}/{name}", b'{"metadata":{"labels":5}}', _of(kind))
        for meta in ({"name": "other"}, {"name": name, "uid": "b"}):
            body = json.dumps({"metadata": meta}).encode()
            yield Step("PUT", f"{path}/{name}", body, _of(JSON))
    elsewhere = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"other"},"spec":5}'
    yield Step("PATCH", f"{maps}/nobody?fieldManager=me", elsewhere, _of(APPLY))
    yield Step("POST", f"{NAMESPACES}/default/pods", b'{"metadata":{"name":"p"}}', _of(JSON))
    rights = (
        b'{"metadata":{"name":"all"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}'
    )
    yield Step("POST", f"{roles}/namespaces/default/roles", rights, _of(JSON))
    pod = (
        b'{"metadata":{"name":"p"},"spec":{"hostNetwork":true,"priorityClassName":"none",'
        b'"serviceAccountName":"none","containers":[{"name":"c","image":"i"}]}}'
    )
    yield Step("POST", f"{NAMESPACES}/default/pods", pod, _of(JSON))
    yield Step("GET", "/metrics")
    yield Step("GET", "/nothing/here")


def planted(word: str) -> Iterator[tuple[str, Object]]:
    """Yield objects with a word in every name that a tenant can choose, each with its path.

    The namespace of that name must exist.
    """
    named = {"name": word, "labels": {word: word}, "annotations": {word: word}}
    there = f"{NAMESPACES}/{word}"
    roles = "/apis/rbac.authorization.k8s.io/v1"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": word}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": word}
    yield f"{there}/configmaps", {"metadata": named, "data": {word: word}}
    yield f"{there}/secrets", {"metadata": named, "stringData": {word: word}}
    yield f"{there}/serviceaccounts", {"metadata": named}
    yield f"{roles}/clusterroles", {"metadata": named, "rules": []}
    yield f"{roles}/clusterrolebindings", {"metadata": named, "roleRef": role, "subjects": [user]}
    yield "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": named, "value": 7}
    yield "/apis/storage.k8s.io/v1/storageclasses", {"metadata": named, "provisioner": word}
    controller = {"controller": f"{word}.example.com/{word}"}
    yield "/apis/networking.k8s.io/v1/ingressclasses", {"metadata": named, "spec": controller}
    plural = f"{word}s"
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "description": word}},
    }
    spec = {
        "group": f"{word}.example.com",
        "scope": "Cluster",
        "names": {"plural": plural, "kind": word.capitalize()},
        "versions": [version],
    }
    definition = {"metadata": {"name": f"{plural}.{word}.example.com"}, "spec": spec}
    yield "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition


def _answer(api: Api, step: Step) -> Answer:
    return api.answer(step.method, step.path, step.body, step.headers)


def _of(kind: str) -> tuple[tuple[str, str], ...]:
    return (("Content-Type", kind),)


def _resources(api: Api) -> Iterator[tuple[str, str]]:
    """Yield the path of each version that is served, and each plural in it that can be listed."""
    versions = ["/api/v1"]
    for group in api.get("/apis")["groups"]:
        versions += [f"/apis/{each['groupVersion']}" for each in group["versions"]]
    for path in versions:
        # A group is still named for a moment after its last definition has gone.
        for resource in (api.find(path) or {"resources": []})["resources"]:
            if "list" in resource["verbs"]:
                yield path, resource["name"]


WANTED = frozenset(
    {
        HTTPStatus.OK,
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.NOT_ACCEPTABLE,
        HTTPStatus.CONFLICT,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""The codes that a walk must receive, or it has seen too little.

The walk tries to get 410 too, but a young cluster has compacted nothing yet.
"""
