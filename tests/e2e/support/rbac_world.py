"""Generated Roles, bindings and questions, all with names of their own."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random

from lnamespace.rbac.attributes import Attributes, User, path_attributes, service_account
from lnamespace.rbac.objects import RbacBinding, RbacRole, binding_value, role_value
from lnamespace.rbac.store import RoleStore

from tests.e2e.support.api import Api, Object, ns_path, rbac_path

GROUP = "rbac.authorization.k8s.io"
VERBS = ("get", "list", "create", "update", "delete", "escalate", "bind", "impersonate")
GROUPS = ("", "apps", "example.com", GROUP)
RESOURCES = ("pods", "deployments", "widgets", "roles", "clusterroles", "secrets")
SUBRESOURCES = ("", "", "status", "scale", "log")
NAMES = ("", "", "one", "two", "three")
PATHS = ("/healthz", "/healthz/etcd", "/api", "/apis/apps", "/metrics", "/a/b/c", "/")
URLS = ("/healthz", "/healthz/*", "/a*", "/apis/*", "*", "/metrics", "/a/b*")
KINDS = ("namespaces", "clusterroles", "clusterrolebindings")


@dataclass
class World:
    """One set of objects of a tenant's kind, on a real API server, and who is in them."""

    name: str
    random: Random
    objects: list[tuple[str, Object]] = field(default_factory=list)

    @property
    def namespaces(self) -> list[str]:
        """The namespaces that have Roles and bindings."""
        return [f"{self.name}-x", f"{self.name}-y"]

    @property
    def users(self) -> list[User]:
        """Those who are asked about."""
        groups = [f"{self.name}:g{number}" for number in range(4)]
        people = [
            User(f"{self.name}:u{number}", groups=(*self.random.sample(groups, 2),))
            for number in range(5)
        ]
        accounts = [service_account(namespace, "sa") for namespace in self.namespaces]
        return [*people, *accounts, User(f"{self.name}:nobody", groups=("system:authenticated",))]

    def generate(self) -> None:
        """Think of objects, in the order in which they can be created."""
        for number in range(14):
            self._add("clusterroles", f"c{number}", self._cluster_role(number))
        for namespace in self.namespaces:
            for number in range(6):
                role = {"rules": [self._rule() for _ in range(self.random.randint(0, 3))]}
                self._add("roles", f"r{number}", role, namespace)
            for number in range(9):
                kind = self.random.choice(["Role", "ClusterRole"])
                self._add("rolebindings", f"b{number}", self._binding(kind, namespace), namespace)
        for number in range(8):
            self._add("clusterrolebindings", f"b{number}", self._binding("ClusterRole"))

    def create(self, admin: Api) -> None:
        """Create the objects."""
        for namespace in self.namespaces:
            admin.create(ns_path(""), {"metadata": {"name": namespace}})
        for path, manifest in self.objects:
            admin.create(path, manifest)

    def remove(self, admin: Api) -> None:
        """Delete what is there of it."""
        for path, manifest in self.objects:
            if "/namespaces/" not in path:
                admin.remove(f"{path}/{manifest['metadata']['name']}")
        for namespace in self.namespaces:
            admin.remove(ns_path(namespace))

    def questions(self, count: int) -> Iterator[tuple[User, Attributes]]:
        """Think of questions, half of them about what some rule names."""
        users = self.users
        for _ in range(count):
            yield self.random.choice(users), self._question()

    def _question(self) -> Attributes:
        pick = self.random.choice
        if self.random.random() < 0.2:
            return path_attributes(pick(("get", "post")), pick(PATHS))
        namespace = pick(["", *self.namespaces, *self.namespaces])
        return Attributes(
            pick(VERBS),
            pick(GROUPS),
            "",
            pick(RESOURCES),
            pick(SUBRESOURCES),
            namespace,
            pick(NAMES),
        )

    def _add(self, kind: str, name: str, manifest: Object, namespace: str = "") -> None:
        meta = manifest.pop("metadata", {}) | {"name": f"{self.name}-{name}"}
        if namespace:
            meta["namespace"] = namespace
        self.objects.append((rbac_path(kind, namespace=namespace), {"metadata": meta, **manifest}))

    def _cluster_role(self, number: int) -> Object:
        label = f"{self.name}.example.com"
        labels = {f"{label}/to-{self.random.randint(0, 3)}": "true"} if number > 3 else {}
        if number < 4:  # aggregated; one may have another's label, never in a circle
            key = f"{label}/to-{number}"
            by_label: Object = {"matchLabels": {key: "true"}}
            by_key: Object = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
            chosen = self.random.choice([by_label, by_key])
            labels = {f"{label}/to-{number - 1}": "true"} if number else {}
            return {
                "metadata": {"labels": labels},
                "aggregationRule": {"clusterRoleSelectors": [chosen]},
            }
        rules = [self._rule(paths=True) for _ in range(self.random.randint(0, 3))]
        return {"metadata": {"labels": labels}, "rules": rules}

    def _rule(self, *, paths: bool = False) -> Object:
        verbs = self._some(("*", *VERBS), 3)
        if paths and self.random.random() < 0.3:
            return {"verbs": verbs, "nonResourceURLs": self._some(URLS, 2)}
        written = ["*/scale", "*/status", "pods/*", "pods/log", "deployments/scale", "*/*"]
        rule: Object = {
            "verbs": verbs,
            "apiGroups": self._some(("*", *GROUPS), 2),
            "resources": self._some(("*", *RESOURCES, *written), 3),
        }
        if self.random.random() < 0.3:
            rule["resourceNames"] = self._some(("one", "two", "other"), 2)
        return rule

    def _binding(self, kind: str, namespace: str = "") -> Object:
        prefix, top = ("r", 6) if kind == "Role" else ("c", 14)
        role = f"{self.name}-{prefix}{self.random.randint(0, top)}"  # the last does not exist
        subjects = [self._subject(namespace) for _ in range(self.random.randint(1, 2))]
        return {"roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}, "subjects": subjects}

    def _subject(self, namespace: str) -> Object:
        number = self.random.randint(0, 4)
        group = {"kind": "Group", "apiGroup": GROUP, "name": f"{self.name}:g{number}"}
        home = self.random.choice(self.namespaces)
        account = {"kind": "ServiceAccount", "name": "sa", "namespace": home}
        of_namespace = {**group, "name": f"system:serviceaccounts:{home}"}
        person = {"kind": "User", "apiGroup": GROUP, "name": f"{self.name}:u{number}"}
        choices = [person, person, group, group, account, of_namespace]
        if namespace:
            choices.append({"kind": "ServiceAccount", "name": "sa"})
        return self.random.choice(choices)

    def _some(self, words: tuple[str, ...] | list[str], most: int) -> list[str]:
        return self.random.sample(words, self.random.randint(1, most))


def stored_objects(admin: Api) -> tuple[list[RbacRole], list[RbacBinding]]:
    """All Roles and bindings that the API server has."""
    roles = [
        role_value(item)
        for kind in ("roles", "clusterroles")
        for item in admin.items(rbac_path(kind))
    ]
    bindings = [
        binding_value(item)
        for kind in ("rolebindings", "clusterrolebindings")
        for item in admin.items(rbac_path(kind))
    ]
    return roles, bindings


def stored(admin: Api) -> RoleStore:
    """The store of all Roles and bindings that the API server has."""
    return RoleStore.of(*stored_objects(admin))


def review(admin: Api, user: User, asked: Attributes) -> Object:
    """What the API server answers to a SubjectAccessReview."""
    spec: Object = {"user": user.name, "groups": list(user.groups), "uid": user.uid}
    if asked.resource_request:
        keys = ("verb", "group", "resource", "subresource", "namespace", "name")
        spec["resourceAttributes"] = {key: getattr(asked, key) for key in keys}
    else:
        spec["nonResourceAttributes"] = {"verb": asked.verb, "path": asked.path}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer: Object = admin.create(path, {"spec": spec})["status"]
    return answer


def reviews(admin: Api, questions: list[tuple[User, Attributes]]) -> list[Object]:
    """What the API server answers to many."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda question: review(admin, *question), questions))


def encoded(manifest: Object) -> bytes:
    """A manifest as the body of a request."""
    return json.dumps(manifest).encode()
