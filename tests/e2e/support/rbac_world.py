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
ODD_VERBS = ("Get", "watch", "deletecollection", "*", "")
GROUPS = ("", "apps", "example.com", GROUP)
RESOURCES = ("pods", "deployments", "widgets", "roles", "clusterroles", "secrets")
SUBRESOURCES = ("", "", "", "status", "scale", "log", "*", "status/x")
NAMES = ("", "", "one", "two", "three", "*", "one/two")
PATHS = ("/healthz", "/healthz/", "/healthz/etcd", "/api", "/apis/apps", "/metrics", "/a", "/a/b/c")
ODD_PATHS = ("/", "", "*", "/a*", "/a**", "/HEALTHZ", "/a//b", "healthz", "/h\u00e4")
URLS = ("/healthz", "/healthz/*", "/a*", "/apis/*", "*", "/metrics", "/a/b*")
ODD_URLS = ("/a**", "/*", "/a*/c", "/*/b", "", "/h\u00e4*", "healthz")
ODD_USER = 'O"Neil <o&n> \\ \u00fc\u4e2d'
EVERYBODY = ("authenticated", "serviceaccounts")


@dataclass
class World:
    """One set of objects of a tenant's kind, on a real API server, and who is in them."""

    name: str
    random: Random
    objects: list[tuple[str, Object]] = field(default_factory=list)

    @property
    def namespaces(self) -> list[str]:
        """Return the namespaces that have Roles and bindings."""
        return [f"{self.name}-x", f"{self.name}-y"]

    @property
    def users(self) -> list[User]:
        """Return the users of the questions."""
        groups = [f"{self.name}:g{number}" for number in range(4)]
        people = [
            User(f"{self.name}:u{number}", groups=(*self.random.sample(groups, 2),))
            for number in range(5)
        ]
        accounts = [service_account(namespace, "sa") for namespace in self.namespaces]
        nobody = User(f"{self.name}:nobody", groups=("system:authenticated",))
        odd = User(f"{self.name}:{ODD_USER}", groups=(f"{self.name}:{ODD_USER}",))
        return [*people, *accounts, nobody, odd]

    @property
    def _asked_users(self) -> list[User]:
        """Return the users of reviews, some of whom cannot log in."""
        named = User(service_account(self.namespaces[0], "sa").name)
        grouped = User("", groups=(f"{self.name}:g0", f"{self.name}:g0"))
        master = User(f"{self.name}:master", groups=(f"{self.name}:g1", "system:masters"))
        return [*self.users, *self.users, named, grouped, master]

    def generate(self) -> None:
        """Invent objects, in the order in which they can be created."""
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
        """Invent questions, half of them about what some rule names."""
        users = self._asked_users
        rules = [rule for _, manifest in self.objects for rule in manifest.get("rules", ())]
        for _ in range(count):
            likely = self.random.random() < 0.5
            asked = self._likely(self.random.choice(rules)) if likely else self._question()
            yield self.random.choice(users), asked

    def _likely(self, rule: Object) -> Attributes:
        """Invent a question that one rule may answer."""
        pick = self.random.choice
        verb = self._for_all(pick(rule["verbs"]), VERBS)
        if "nonResourceURLs" in rule:
            url = pick(rule["nonResourceURLs"])
            return path_attributes(verb, pick((url, url.rstrip("*"), url.replace("*", "x/y"))))
        resource, _, subresource = pick(rule["resources"]).partition("/")
        return Attributes(
            verb,
            self._for_all(pick(rule["apiGroups"]), GROUPS),
            "",
            self._for_all(resource, RESOURCES),
            self._for_all(subresource, SUBRESOURCES),
            self._namespace(),
            pick((*rule.get("resourceNames", ()), *NAMES)),
        )

    def _for_all(self, word: str, words: tuple[str, ...]) -> str:
        return self.random.choice((*words, "*")) if word == "*" else word

    def _namespace(self) -> str:
        """Return one that has Roles, or none, or one that does not exist."""
        return self.random.choice(["", *self.namespaces, *self.namespaces, f"{self.name}-none"])

    def _question(self) -> Attributes:
        pick = self.random.choice
        if self.random.random() < 0.2:
            return path_attributes(pick(("get", "post", "*")), pick((*PATHS, *ODD_PATHS)))
        return Attributes(
            pick((*VERBS, *ODD_VERBS)),
            pick((*GROUPS, "*", "extensions")),
            "",
            pick((*RESOURCES, "*")),
            pick(SUBRESOURCES),
            self._namespace(),
            pick(NAMES),
        )

    def _add(self, kind: str, name: str, manifest: Object, namespace: str = "") -> None:
        meta = manifest.pop("metadata", {}) | {"name": f"{self.name}-{name}"}
        if namespace:
            meta["namespace"] = namespace
        self.objects.append((rbac_path(kind, namespace=namespace), {"metadata": meta, **manifest}))

    def _cluster_role(self, number: int) -> Object:
        """Return a ClusterRole; the first four are aggregated, never in a circle."""
        label = f"{self.name}.example.com"
        if number < 4:
            labels = {f"{label}/to-{number - 1}": "true"} if number else {}
            selectors = [self._selector(label, number) for _ in range(self.random.randint(1, 2))]
            aggregation = {"clusterRoleSelectors": selectors}
            return {"metadata": {"labels": labels}, "aggregationRule": aggregation}
        value = self.random.choice(("true", "true", "false"))
        labels = {f"{label}/leaf": "", f"{label}/to-{self.random.randint(0, 3)}": value}
        rules = [self._rule(paths=True) for _ in range(self.random.randint(0, 3))]
        return {"metadata": {"labels": labels}, "rules": rules}

    def _selector(self, label: str, number: int) -> Object:
        """Return a selector of ClusterRoles of this world."""
        key = f"{label}/to-{number}"
        leaves: Object = {"matchLabels": {f"{label}/leaf": ""}}
        return self.random.choice(
            [
                {"matchLabels": {key: "true"}},
                {"matchExpressions": [{"key": key, "operator": "Exists"}]},
                {"matchExpressions": [{"key": key, "operator": "In", "values": ["true", "x"]}]},
                leaves | {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]},
                leaves
                | {"matchExpressions": [{"key": key, "operator": "NotIn", "values": ["true"]}]},
            ]
        )

    def _rule(self, *, paths: bool = False) -> Object:
        verbs = self._some(("*", *VERBS), 3)
        if paths and self.random.random() < 0.3:
            return {"verbs": verbs, "nonResourceURLs": self._some((*URLS, *ODD_URLS), 2)}
        written = ["*/scale", "*/status", "pods/*", "pods/log", "deployments/scale", "*/*"]
        rule: Object = {
            "verbs": verbs,
            "apiGroups": self._some(("*", *GROUPS), 2),
            "resources": self._some(("*", *RESOURCES, *written), 3),
        }
        if self.random.random() < 0.3:
            rule["resourceNames"] = self._some(("one", "two", "other", "*", ""), 2)
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
        by_name = {**person, "name": f"system:serviceaccount:{home}:sa"}
        odd = {**self.random.choice([person, group]), "name": f"{self.name}:{ODD_USER}"}
        choices = [person, person, group, group, account, of_namespace, by_name, odd]
        if namespace:  # elsewhere these would be everybody
            choices.append({"kind": "ServiceAccount", "name": "sa"})
            choices += [{**group, "name": f"system:{all_}"} for all_ in EVERYBODY]
        return self.random.choice(choices)

    def _some(self, words: tuple[str, ...] | list[str], most: int) -> list[str]:
        return self.random.sample(words, self.random.randint(1, most))


def stored_objects(admin: Api) -> tuple[list[RbacRole], list[RbacBinding]]:
    """Return all Roles and bindings that the API server has."""
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
    """Return the store of all Roles and bindings that the API server has."""
    return RoleStore.from_objects(*stored_objects(admin))


def review(admin: Api, user: User, asked: Attributes) -> Object:
    """Return the API server's answer to a SubjectAccessReview."""
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
    """Return the API server's answers to many reviews."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda question: review(admin, *question), questions))


def encoded(manifest: Object) -> bytes:
    """Return a manifest as the body of a request."""
    return json.dumps(manifest).encode()
