"""Which namespace a file is for, as `kubectl sudo apply -f FILE` finds it."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.plugins.sudo.manifests import namespaces

BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  annotations:
    namespace: not-this
  name: ci
  namespace: team-a   # ours
subjects:
- kind: ServiceAccount
  name: deployer
  namespace: neither-this
roleRef: {kind: ClusterRole, name: view, apiGroup: rbac.authorization.k8s.io}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (BINDING, {"team-a"}),
        ("[" * 100_000, set()),
        ("kind: LNamespace\nmetadata:\n  name: team-a\n", {"team-a"}),
        ("---\nkind: Namespace\nmetadata: {name: team-a}\n", {"team-a"}),
        ("kind: Pod\nmetadata: {name: x, namespace: 'team-a'}\n", {"team-a"}),
        (BINDING + "--- # next\n" + BINDING.replace("team-a", "team-b"), {"team-a", "team-b"}),
        ("kind: Pod\nmetadata:\n  name: x\n", set()),
        ("kind: ClusterRole\nmetadata:\n    name: x\nrules: []\n", set()),
        ('{"kind": "List", "items": [{"metadata": {"namespace": "a"}}]}', {"a"}),
        ("kind: Pod\nmetadata:\n  namespace: &ns team-a\n", set()),
        ("kind: Pod\nmetadata:\n  namespace: *ns\n", set()),
        ("kind: Pod\nmetadata:\n  namespace: >-\n    team-a\n", set()),
        ("kind: Pod\nmetadata:\n  namespace: !!str team-a\n", set()),
        ("kind: Pod\nmetadata: {name: x,\n  namespace: team-a,\n  labels: {}}\n", set()),
        ('{"kind": "LNamespace", "metadata": {"name": "b"}}', {"b"}),
        ("[1, 2]", set()),
        ("null", set()),
        ("", set()),
        ("\x00 not: a manifest", set()),
    ],
)
def test_the_namespaces_of_a_manifest_are_found(text: str, found: set[str]) -> None:
    assert namespaces(text) == found


labels = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
metadata = st.fixed_dictionaries(
    {"name": labels},
    optional={
        "namespace": labels,
        "labels": st.dictionaries(st.sampled_from(["namespace", "name", "app"]), labels),
        "ownerReferences": st.lists(st.fixed_dictionaries({"name": labels, "namespace": labels})),
    },
)
objects = st.fixed_dictionaries(
    {"kind": st.sampled_from(["Pod", "LNamespace", "Namespace"]), "metadata": metadata},
    optional={"spec": st.fixed_dictionaries({"metadata": metadata, "namespace": labels})},
)


@given(st.lists(objects, min_size=1, max_size=3))
def test_namespaces_found_in_yaml_equal_those_found_in_json(
    written: list[dict[str, object]],
) -> None:
    """JSON takes the exact road, so the two must agree on all that a YAML library writes."""
    as_yaml = yaml.safe_dump_all(written)
    assert namespaces(as_yaml) == namespaces(json.dumps({"kind": "List", "items": written}))
