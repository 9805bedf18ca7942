"""What somebody may make and delete inside an LCluster."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import msgspec

from tests.e2e.lclusters_model.authority import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    DEFINITIONS,
    EVERYTHING,
    RBAC,
    ROLES,
    WIDGETS,
    Binding,
    Guise,
    Right,
    Role,
)
from tests.e2e.lclusters_model.world import Inside
from tests.e2e.rights_model.model import Subject
from tests.e2e.support.api import NAMESPACES, Object, ns_path, rbac_path

ADMISSION = "admissionregistration.k8s.io"
BARRED = "barred"
"""The name of what a policy or a webhook of an LCluster refuses."""


class Thing(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """An object, or some that belong together."""

    namespace: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        """Return the resource, with its group behind a dot."""
        raise NotImplementedError

    def objects(self) -> Iterator[tuple[str, Object]]:
        """Return the objects and where they are created, without what everything has."""
        raise NotImplementedError

    def there(self, inside: Inside) -> bool:
        """Return whether it is there."""
        raise NotImplementedError

    def made(self, inside: Inside, serial: int) -> Inside:
        """Return an LCluster after somebody made it."""
        raise NotImplementedError

    def gone(self, inside: Inside) -> Inside:
        """Return an LCluster after somebody deleted it."""
        raise NotImplementedError

    def possible(self, inside: Inside) -> bool:
        """Return whether it can be made at all."""
        return not self.namespace or self.namespace in inside.namespaces

    def granted(self, inside: Inside, guise: Guise) -> bool:
        """Return whether somebody has all that they give away by it."""
        del inside, guise
        return True

    @property
    def place(self) -> tuple[str, str]:
        """Return its namespace, or none, and its name."""
        return self.namespace, self.name

    @property
    def fades(self) -> bool:
        """Return whether its deletion takes its time."""
        return False


class Space(Thing, frozen=True, tag=True, kw_only=True):
    """A namespace."""

    resource = "namespaces"
    fades = True

    def objects(self) -> Iterator[tuple[str, Object]]:
        yield NAMESPACES, {}

    def there(self, inside: Inside) -> bool:
        return self.name in inside.namespaces

    def made(self, inside: Inside, serial: int) -> Inside:
        del serial
        return replace(inside, namespaces=inside.namespaces | {self.name})

    def gone(self, inside: Inside) -> Inside:
        return inside.without(self.name)


class Paper(Thing, frozen=True, tag=True, kw_only=True):
    """A ConfigMap."""

    resource = "configmaps"

    def objects(self) -> Iterator[tuple[str, Object]]:
        yield ns_path(self.namespace, "configmaps"), {}

    def there(self, inside: Inside) -> bool:
        return self.place in inside.papers

    def made(self, inside: Inside, serial: int) -> Inside:
        del serial
        return replace(inside, papers=inside.papers | {self.place})

    def gone(self, inside: Inside) -> Inside:
        return replace(inside, papers=inside.papers - {self.place})


class Robot(Thing, frozen=True, tag=True, kw_only=True):
    """A ServiceAccount: one that is made anew is another."""

    resource = "serviceaccounts"

    def objects(self) -> Iterator[tuple[str, Object]]:
        yield ns_path(self.namespace, "serviceaccounts"), {}

    def there(self, inside: Inside) -> bool:
        return self.place in inside.accounts

    def made(self, inside: Inside, serial: int) -> Inside:
        return replace(inside, accounts={**inside.accounts, self.place: serial})

    def gone(self, inside: Inside) -> Inside:
        left = {place: each for place, each in inside.accounts.items() if place != self.place}
        return replace(inside, accounts=left)


class Widget(Thing, frozen=True, tag=True, kw_only=True):
    """A custom resource, of the version that the author takes it to have."""

    version: str = "v1"
    resource = WIDGETS

    def objects(self) -> Iterator[tuple[str, Object]]:
        where = f"/apis/example.com/{self.version}/namespaces/{self.namespace}/widgets"
        yield where, {"apiVersion": f"example.com/{self.version}", "kind": "Widget"}

    def possible(self, inside: Inside) -> bool:
        return super().possible(inside) and inside.version == self.version

    def there(self, inside: Inside) -> bool:
        return self.place in inside.widgets and inside.version == self.version

    def made(self, inside: Inside, serial: int) -> Inside:
        del serial
        return replace(inside, widgets=inside.widgets | {self.place})

    def gone(self, inside: Inside) -> Inside:
        return replace(inside, widgets=inside.widgets - {self.place})


class WidgetDefinition(Thing, frozen=True, tag=True, kw_only=True):
    """The CustomResourceDefinition of widgets, in one of two versions; all have one name."""

    version: str = "v1"
    name: str = "widgets.example.com"
    resource = DEFINITIONS
    fades = True

    def objects(self) -> Iterator[tuple[str, Object]]:
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": self.version, "served": True, "storage": True, "schema": schema}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names}
        where = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        yield where, {"spec": spec | {"versions": [version]}}

    def there(self, inside: Inside) -> bool:
        return bool(inside.version)

    def made(self, inside: Inside, serial: int) -> Inside:
        del serial
        return replace(inside, version=self.version)

    def gone(self, inside: Inside) -> Inside:
        return replace(inside, version="", widgets=frozenset())


class Rules(Thing, frozen=True, tag=True, kw_only=True):
    """A Role, or a ClusterRole where there is no namespace."""

    rights: tuple[Right, ...] = ()
    label: str = ""
    sums: str = ""

    @property
    def resource(self) -> str:
        return ROLES if self.namespace else CLUSTER_ROLES

    def objects(self) -> Iterator[tuple[str, Object]]:
        body: Object = {"rules": [_rule(right) for right in self.rights]}
        if self.label:
            body["metadata"] = {"labels": {_label(self.label): "true"}}
        if self.sums:
            selector = {"matchLabels": {_label(self.sums): "true"}}
            body |= {"rules": [], "aggregationRule": {"clusterRoleSelectors": [selector]}}
        yield rbac_path("roles" if self.namespace else "clusterroles", "", self.namespace), body

    def granted(self, inside: Inside, guise: Guise) -> bool:
        wanted = EVERYTHING if self.sums else self.rights
        escalate = Right("escalate", self.resource, self.name)
        there = self.namespace
        return inside.may(guise, wanted, there) or (
            inside.may(guise, (escalate,), there) and not self.sums
        )

    def there(self, inside: Inside) -> bool:
        return self.place in inside.roles

    def made(self, inside: Inside, serial: int) -> Inside:
        del serial
        role = Role(self.rights, self.label, self.sums)
        return replace(inside, roles={**inside.roles, self.place: role})

    def gone(self, inside: Inside) -> Inside:
        left = {place: each for place, each in inside.roles.items() if place != self.place}
        return replace(inside, roles=left)


class Gift(Thing, frozen=True, tag=True, kw_only=True):
    """A RoleBinding, or a ClusterRoleBinding where there is no namespace."""

    kind: Literal["ClusterRole", "Role"] = "ClusterRole"
    role: str
    subject: Subject

    @property
    def resource(self) -> str:
        return BINDINGS if self.namespace else CLUSTER_BINDINGS

    def objects(self) -> Iterator[tuple[str, Object]]:
        kind = "rolebindings" if self.namespace else "clusterrolebindings"
        subject = {"kind": self.subject.kind, "name": self.subject.name}
        if self.subject.kind == "ServiceAccount":
            subject["namespace"] = self.subject.namespace
        else:
            subject["apiGroup"] = RBAC
        ref = {"apiGroup": RBAC, "kind": self.kind, "name": self.role}
        yield rbac_path(kind, "", self.namespace), {"roleRef": ref, "subjects": [subject]}

    def granted(self, inside: Inside, guise: Guise) -> bool:
        there = self.namespace
        given = [*inside.rules(self.kind, self.role, there)]
        what = CLUSTER_ROLES if self.kind == "ClusterRole" else ROLES
        known = bool(given) or self._known(inside)
        has = known and inside.may(guise, given, there)
        return has or inside.may(guise, (Right("bind", what, self.role),), there)

    def _known(self, inside: Inside) -> bool:
        return ("" if self.kind == "ClusterRole" else self.namespace, self.role) in inside.roles

    def there(self, inside: Inside) -> bool:
        return self.place in inside.bindings

    def made(self, inside: Inside, serial: int) -> Inside:
        del serial
        binding = Binding(self.kind, self.role, (self.subject,))
        return replace(inside, bindings={**inside.bindings, self.place: binding})

    def gone(self, inside: Inside) -> Inside:
        left = {place: each for place, each in inside.bindings.items() if place != self.place}
        return replace(inside, bindings=left)


class Bar(Thing, frozen=True, tag=True, kw_only=True):
    """What refuses creations: of ConfigMaps a policy, of Secrets a webhook with nobody there."""

    name: Literal["configmaps", "secrets"] = "configmaps"

    @property
    def resource(self) -> str:
        kind = "policies" if self.name == "configmaps" else "webhookconfigurations"
        return f"validating{'admission' if kind == 'policies' else ''}{kind}.{ADMISSION}"

    def objects(self) -> Iterator[tuple[str, Object]]:
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": [self.name],
            "operations": ["CREATE"],
        }
        base = f"/apis/{ADMISSION}/v1"
        if self.name == "secrets":
            client = {"service": {"namespace": "default", "name": "nobody", "path": "/"}}
            webhook = {"name": "bar.example.com", "clientConfig": client, "rules": [rule]}
            webhook |= {"admissionReviewVersions": ["v1"], "sideEffects": "None"}
            yield f"{base}/validatingwebhookconfigurations", {"webhooks": [webhook]}
            return
        expression = f"object.metadata.name != '{BARRED}'"
        spec: Object = {"matchConstraints": {"resourceRules": [rule]}}
        spec["validations"] = [{"expression": expression, "message": "barred by a policy"}]
        bound = {"policyName": self.name, "validationActions": ["Deny"]}
        yield f"{base}/validatingadmissionpolicies", {"spec": spec}
        yield f"{base}/validatingadmissionpolicybindings", {"spec": bound}

    def there(self, inside: Inside) -> bool:
        return self.name in inside.barred

    def made(self, inside: Inside, serial: int) -> Inside:
        del serial
        return replace(inside, barred=inside.barred | {self.name})

    def gone(self, inside: Inside) -> Inside:
        return replace(inside, barred=inside.barred - {self.name})


AnyThing = Space | Paper | Robot | Widget | WidgetDefinition | Rules | Gift | Bar


def _rule(right: Right) -> Object:
    resource, _, group = right.resource.partition(".")
    group = "*" if resource == "*" else group
    rule: Object = {"apiGroups": [group], "resources": [resource], "verbs": [right.verb]}
    return rule | ({"resourceNames": [right.name]} if right.name else {})


def _label(name: str) -> str:
    return f"{RBAC if name.startswith('aggregate-to-') else 'example.com'}/{name}"
