"""What goes up comes down as it was: unknown fields, numbers, words and the order of keys."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from lnamespace.translate.bodies.encoded import answer_down, request_up

from tests.unit.support.translation import ACME, JSON, LABEL, asked

KINDS = ["configmaps", "pods", "deployments", "networkpolicies", "rolebindings", "roles", "widgets"]
CLUSTER_SCOPED = ["namespaces", "clusterroles", "clusterrolebindings", "gadgets"]

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
names = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True).filter(
    lambda name: name not in {"admin", "acme"} and not name.startswith("acme-")
)
numbers = (
    st.integers() | st.integers(2**63, 2**80) | st.floats(allow_nan=False, allow_infinity=False)
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(words, below, max_size=3),
    max_leaves=6,
)
keys = words.filter(lambda key: key not in {"metadata", "spec", "apiVersion", "kind", "status"})
label_keys = names | names.map("rbac.authorization.k8s.io/aggregate-to-{}".format)
labels = st.dictionaries(label_keys, names, min_size=1, max_size=3)
references = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", "apps/v1", "example.com/v1", "other.io/v1"]),
        "kind": st.sampled_from(["Namespace", "Pod", "Widget", "Gadget", "Unknown"]),
        "name": names,
    }
)
selected_keys = names | st.just("kubernetes.io/metadata.name")
selectors = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(
            names | st.just("kubernetes.io/metadata.name"), names, min_size=1
        ),
        "matchExpressions": st.lists(
            st.fixed_dictionaries(
                {
                    "key": selected_keys,
                    "operator": st.just("In"),
                    "values": st.lists(names),
                }
            )
        ),
    },
)
subjects = st.fixed_dictionaries(
    {"kind": st.sampled_from(["User", "Group", "ServiceAccount"]), "name": names}
) | st.fixed_dictionaries({"kind": st.just("ServiceAccount"), "name": names, "namespace": names})
specs = st.fixed_dictionaries(
    {},
    optional={
        "namespaceSelector": selectors,
        "ingress": st.lists(
            st.fixed_dictionaries(
                {"from": st.lists(st.fixed_dictionaries({"namespaceSelector": selectors}))}
            ),
            max_size=2,
        ),
        "priorityClassName": names,
        "unknown": anything,
    },
)


@st.composite
def objects(draw: st.DrawFn, *, namespaced: bool) -> dict[str, Any]:
    """Return an object with fields that are translated, and with any others, in any order."""
    metadata = st.fixed_dictionaries(
        {"name": names} | ({"namespace": names} if namespaced else {}),
        optional={
            "labels": labels,
            "annotations": st.dictionaries(names, words, min_size=1),
            "ownerReferences": st.lists(references, min_size=1, max_size=2),
            "uid": words,
        },
    )
    known = st.fixed_dictionaries(
        {"metadata": metadata},
        optional={
            "spec": specs,
            "subjects": st.lists(subjects, max_size=2),
            "roleRef": st.fixed_dictionaries({"kind": st.just("ClusterRole"), "name": names}),
            "rules": st.lists(st.fixed_dictionaries({"apiGroups": st.lists(names)}), max_size=2),
        },
    )
    members = [*draw(known).items(), *draw(st.dictionaries(keys, anything, max_size=3)).items()]
    return dict(draw(st.permutations(members)))


def round_trip(plural: str, body: bytes) -> tuple[bytes, bytes]:
    """Return what the API server is sent, and what the tenant is answered for it."""
    request = asked(plural, "update")
    _, upstream = request_up(request, JSON, body, ACME)
    return upstream, answer_down(request, upstream, ACME)


def encoded(value: Any) -> bytes:
    """Return compact JSON, whose numbers are written as Python writes them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@settings(max_examples=2 * settings().max_examples)
@given(st.sampled_from(KINDS), objects(namespaced=True))
def test_a_namespaced_object_round_trips_through_translation(
    plural: str, own: dict[str, Any]
) -> None:
    upstream, below = round_trip(plural, encoded(own))
    assert json.loads(upstream)["metadata"]["namespace"].startswith("acme-")
    assert list(json.loads(below).items()) == list(own.items())


@settings(max_examples=2 * settings().max_examples)
@given(st.sampled_from(CLUSTER_SCOPED), objects(namespaced=False))
def test_a_cluster_scoped_object_round_trips_through_translation(
    plural: str, own: dict[str, Any]
) -> None:
    upstream, below = round_trip(plural, encoded(own))
    metadata = json.loads(upstream)["metadata"]
    assert metadata["name"].startswith("acme-")
    assert metadata["labels"][LABEL] == "acme"
    assert json.loads(below) == own


@given(st.dictionaries(keys, anything), names)
def test_untranslated_fields_are_preserved_byte_for_byte(data: dict[str, Any], name: str) -> None:
    body = encoded({"data": data, "metadata": {"name": name, "namespace": "prod"}})
    upstream, below = round_trip("configmaps", body)
    assert upstream == body.replace(b'"namespace":"prod"}}', b'"namespace":"acme-prod"}}')
    assert below == body
