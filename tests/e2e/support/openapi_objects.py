"""Objects generated from the OpenAPI documents of an API server, with as many fields as it takes.

A schema does not say all that the API server asks for. What it refuses it names, and that is taken
away again, until the rest is taken or nothing generated is left.
"""

import json
import re
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.e2e.support.api import JSON, Answer, Api, Object

_SENT = (("Content-Type", JSON),)
_KEY = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_LABELS = ("labels", "matchLabels", "selector")
_OF_CLASSES = {"priority", "priorityClassName", "runtimeClassName", "overhead"}
_STRICT = "?fieldValidation=Strict"
_TRIES = 40
_DEEPEST = 12
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_EITHER = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_TEXTS = {
    "apiGroup": "example.com",
    "apiVersion": "example.com/v1",
    "ip": "10.1.1.1",
    "kind": "Gadget",
    "key": "kubernetes.io/metadata.name",
    "labels": "b",
    "matchLabels": "b",
    "selector": "b",
    "namespace": "prod",
    "namespaces": "prod",
    "operator": "NotIn",
    "serviceAccount": "default",
    "serviceAccountName": "default",
}
"""What fields hold, by their names; all others hold one of the words."""
_WORDS = ("prod", "fast", "standard", "a.example.com", "/a/b", "v1")
_LEFT = {"status", "managedFields", "ownerReferences", "generateName", "finalizers", "selfLink"}
"""What a client does not write, or what keeps an object."""


@dataclass
class Schemas:
    """The schemas that an API server has of one group and version."""

    document: Object
    random: Random
    density: float = 1.0
    """How many of the fields that may be left out are there."""

    def kinds(self) -> dict[str, str]:
        """Return the name of the schema of each kind."""
        found = {}
        for name, schema in self.document["components"]["schemas"].items():
            for each in schema.get("x-kubernetes-group-version-kind", ()):
                found[each["kind"]] = name
        return found

    def thinned(self, density: float) -> "Schemas":
        """Return the same, with fewer fields."""
        return replace(self, density=density)

    def value(self, schema: Object, name: str = "", depth: int = 0) -> Any:
        """Return a value that a schema allows."""
        for each in schema.get("allOf") or schema.get("oneOf") or ():
            schema = schema | each
        if "$ref" in schema:
            return self._named(schema["$ref"].rpartition("/")[2], name, depth)
        match schema.get("type"):
            case "object":
                return self._object(schema, name, depth)
            case "array":
                return [self.value(schema["items"], name, depth + 1)]
        return self._scalar(schema, name)

    def _scalar(self, schema: Object, name: str) -> Any:
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        match schema.get("type"):
            case "integer" | "number":
                return self.random.randint(1, 3)
            case "boolean":
                return self.random.choice([True, False])
            case "string":
                return self._text(schema.get("format", ""), name)
        return {}

    def _named(self, ref: str, name: str, depth: int) -> Any:
        if ref == _QUANTITY:
            return "1"
        if ref == _EITHER:
            return 1
        return self.value(self.document["components"]["schemas"][ref], name, depth + 1)

    def _object(self, schema: Object, name: str, depth: int) -> Object:
        if "additionalProperties" in schema:
            key = "a" if name in _LABELS else self.random.choice(["cpu", "a", "example.com/b"])
            return {key: self.value(schema["additionalProperties"], name, depth + 1)}
        needed = set(schema.get("required", ()))
        return {
            key: self.value(each, key, depth + 1)
            for key, each in schema.get("properties", {}).items()
            if key in needed or (self._wanted(depth) and key not in _LEFT)
        }

    def _wanted(self, depth: int) -> bool:
        return depth < _DEEPEST and (depth < 2 or self.random.random() < self.density)

    def _text(self, form: str, name: str) -> str:
        if form == "date-time":
            return "2026-11-23T06:00:00Z"
        if form == "byte":
            return "YQ=="
        return _TEXTS.get(name) or self.random.choice(_WORDS)


def laid_over(base: Any, generated: Any) -> Any:
    """Return generated values, with those of a base in their place where it has any."""
    if isinstance(base, dict) and isinstance(generated, dict):
        keys = [*base, *(key for key in generated if key not in base)]
        return {
            key: laid_over(base[key], generated[key])
            if key in base and key in generated
            else base.get(key, generated.get(key))
            for key in keys
        }
    if isinstance(base, list) and isinstance(generated, list) and base and generated:
        return [laid_over(base[0], generated[0]), *base[1:]]
    return base


def written(api: Api, path: str, sample: Object, schemas: Schemas) -> Object:
    """Create an object like a sample, with all generated fields that are taken, and return it."""
    schema = {"$ref": "/" + schemas.kinds()[sample["kind"]]}
    for density in (0.9, 0.5, 0.2, 0.0):
        generated = schemas.thinned(density).value(schema)
        generated["metadata"] = {"labels": {"a": "b"}, "annotations": {"x": "y"}}
        if sample["kind"] == "Pod":
            generated["spec"] = _without_classes(generated["spec"])
        body = laid_over(sample, generated) if density else sample
        for _ in range(_TRIES):
            answer = api.answer("POST", path + _STRICT, json.dumps(body).encode(), _SENT)
            if answer.status < 300:
                return body
            less = _lessened(body, sample, answer)
            if less == body:
                break
            body = less
    raise AssertionError(answer.text)


def _without_classes(spec: Object) -> Object:
    """Return the specification of a pod without classes, which would have to be there."""
    return {key: each for key, each in spec.items() if key not in _OF_CLASSES}


def _lessened(body: Object, sample: Object, answer: Answer) -> Object:
    """Return an object without what the API server refuses of it."""
    lessened = body
    for cause in json.loads(answer.body).get("details", {}).get("causes", ()):
        keys = _keys(cause.get("field", ""))
        if not _stands(body, keys) or _stands(lessened, keys):  # else it has gone with another
            lessened = _without(lessened, sample, keys)
    return lessened


def _keys(path: str) -> list[str]:
    return [bracketed or plain for bracketed, plain in _KEY.findall(path)]


def _stands(value: Any, keys: list[str]) -> bool:
    """Return whether there is a value at a path."""
    for key in keys:
        if isinstance(value, list):
            if not key.isdecimal() or int(key) >= len(value):
                return False
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return True


def _without(value: Any, sample: Any, keys: list[str]) -> Any:
    """Return a value without the part at a path, or with only the part that a sample has.

    If there is nothing at the path, or only what the sample has, its siblings are the reason.
    """
    if not keys or not isinstance(value, dict | list):
        return sample
    key: Any = keys[0]
    if isinstance(value, list):
        if not key.isdecimal() or int(key) >= len(value):
            return sample
        at = int(key)
        has = isinstance(sample, list) and at < len(sample)
        left = _without(value[at], sample[at] if has else None, keys[1:])
        return [*value[:at], *([] if left is None else [left]), *value[at + 1 :]]
    if key not in value:
        return sample
    below = sample.get(key) if isinstance(sample, dict) else None
    left = _without(value[key], below, keys[1:])
    if left == value[key]:
        return sample
    return {k: left if k == key else v for k, v in value.items() if k != key or left is not None}
