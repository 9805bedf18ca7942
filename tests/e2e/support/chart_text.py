"""What the chart makes, as text that people review."""

import json
from functools import cache
from typing import Any

import yaml

from tests.e2e.support.api import Object

_CHANGING = ("helm.sh/chart", "app.kubernetes.io/version")
_ON_EVERY_OBJECT = {
    "app.kubernetes.io/name": "lnamespace",
    "app.kubernetes.io/instance": "lnamespace",
    "app.kubernetes.io/managed-by": "Helm",
}
_LINE = 110
"""Characters: a mapping or a list that is not longer stands in one line of a short text."""


class Folded(yaml.SafeDumper):
    """A text of several lines that is shown in several, so that long expressions can be read."""


class Short(Folded):
    """A short mapping or list that is shown in one line, such as the rules of roles."""

    def represent_data(self, data: Any) -> yaml.Node:
        node = super().represent_data(data)
        if isinstance(node, yaml.CollectionNode) and not _has_lines(data):
            node.flow_style = len(json.dumps(data)) <= _LINE
        return node


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _has_lines(data: Any) -> bool:
    return "\\n" in json.dumps(data)


Folded.add_representer(str, _text)
Short.add_representer(str, _text)


def objects(made: str) -> list[Object]:
    """Return the objects of a rendered chart, without what differs in every release."""
    return [_stable(item) for item in parsed(made)]


def parsed(made: str) -> list[Object]:
    """Return all objects of a rendered chart: by libyaml, which is ten times as fast."""
    return [item for item in yaml.load_all(made, yaml.CSafeLoader) if item]


def _stable(item: Object) -> Object:
    for meta in (item["metadata"], item.get("spec", {}).get("template", {}).get("metadata", {})):
        for label in _CHANGING:
            meta.get("labels", {}).pop(label, None)
    if written := item.get("data", {}).get("guards.json"):  # they are here as themselves
        names = (f"{guard['kind']} {guard['metadata']['name']}" for guard in json.loads(written))
        item["data"]["guards.json"] = "\n".join(names)
    if item["kind"] == "CustomResourceDefinition":  # schemas are in crds/
        for version in item["spec"]["versions"]:
            version.pop("schema")
            version.pop("additionalPrinterColumns", None)
    return item


def complete(items: list[Object]) -> str:
    """Return the objects in full."""
    return "---\n".join(_dumped(Folded, 100, json.dumps(item)) for item in items)


def concise(items: list[Object]) -> str:
    """Return the objects without the parts that nearly all of them have.

    Left out are the labels of every object, the reason ``Forbidden``, and the binding of a policy
    by its own name that denies everywhere.
    """
    shown = [_without_the_usual(item) for item in items if not _is_usual_binding(item)]
    return "---\n".join(_dumped(Short, 120, json.dumps(item)) for item in shown)


@cache
def _dumped(dumper: type[yaml.SafeDumper], width: int, item: str) -> str:
    """Return the text of an object; most objects of one rendered chart are those of others too."""
    text: str = yaml.dump(
        json.loads(item), Dumper=dumper, sort_keys=False, allow_unicode=True, width=width
    )
    return text


def _is_usual_binding(item: Object) -> bool:
    usual = {"policyName": item["metadata"]["name"], "validationActions": ["Deny"]}
    return bool(item["kind"] == "ValidatingAdmissionPolicyBinding" and item["spec"] == usual)


def _without_the_usual(item: Object) -> Object:
    meta = dict(item["metadata"])
    labels = meta.get("labels", {})
    if labels.items() >= _ON_EVERY_OBJECT.items():
        own = {key: value for key, value in labels.items() if key not in _ON_EVERY_OBJECT}
        meta = {key: value for key, value in meta.items() if key != "labels"}
        meta |= {"labels": own} if own else {}
    else:
        meta["labels"] = labels or None
    short = {**item, "metadata": meta}
    if item["kind"] == "ValidatingAdmissionPolicy":
        checks = [_without_reason(check) for check in item["spec"]["validations"]]
        short["spec"] = {**item["spec"], "validations": checks}
    return short


def _without_reason(check: Object) -> Object:
    if check.get("reason") != "Forbidden":
        return {**check, "reason": check.get("reason")}
    return {key: value for key, value in check.items() if key != "reason"}
