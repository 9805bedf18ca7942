"""LNamespaces and what is in them, good and bad, for property tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from lnamespace.model.billing import Billing
from lnamespace.model.lnamespace import DeletionPolicy, LNamespace, Metadata, Spec
from lnamespace.model.rules import DNS_LABEL, DNS_LABEL_MAX_LENGTH
from lnamespace.model.subject import Member, SubjectKind
from msgspec import UNSET

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

ODD_NAMES = (
    "alice@loblaw.digital",
    "first.last@loblaw.ca",
    "https://issuer.example#sub",
    "*",
    "",
    " alice",
    "alice\n",
    "al\u200bice",
    "\u202eecila",
    "Zoë Ünïcode",
    "system:masters",
    "system:anonymous",
    "system:serviceaccount:a:b",
    "system:serviceaccount:a:b:c",
    "system:serviceaccount:a",
    "system:serviceaccount::b",
    "deployer",
    "a..b",
    "x" * 250,
    "x" * 512,
)

MOMENTS = (
    "2030-01-01T00:00:00Z",
    "2024-02-29T23:59:59.5-05:00",
    "2999-12-31T23:59:59.123456+14:00",
    "2030-01-01T00:00:00.500000+00:00",
)

dns_labels = st.from_regex(DNS_LABEL, fullmatch=True).filter(
    lambda name: len(name) <= DNS_LABEL_MAX_LENGTH
)
tenants = st.one_of(
    st.sampled_from(
        ["team-a", "a", "0", "self-impersonator", "editor", "sudoer-impersonator", "z" * 63]
    ),
    dns_labels,
)
kinds = st.sampled_from(SubjectKind)
expiries = st.one_of(
    st.just(UNSET),
    st.sampled_from([-86_400, -1, 0, 1, 86_400]).map(lambda s: NOW + timedelta(seconds=s)),
)
members = st.builds(
    Member,
    name=st.one_of(st.sampled_from(ODD_NAMES), dns_labels, st.text(min_size=1, max_size=20)),
    kind=kinds,
    namespace=st.one_of(st.just(""), st.sampled_from(["a", "team-a", "A", "a.b"]), dns_labels),
    expires_at=expiries,
)
good_members = st.one_of(
    st.builds(Member, name=st.sampled_from(["alice", "bob", "zoë", "eve@loblaw.ca"])),
    st.builds(
        Member,
        name=st.sampled_from(["deployer", "default"]),
        kind=st.just(SubjectKind.SERVICE_ACCOUNT),
        namespace=st.sampled_from(["ci", "team-a"]),
    ),
)
member_lists = st.lists(members, max_size=5).map(tuple)
uids = st.uuids().map(str)
letters = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
"""What may stand in a bill."""
texts = st.text(letters, max_size=5)
CLASS_NAME = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
"""The pattern of ``spec.className``, the only one that random text would hardly ever meet."""


def specs(lists: st.SearchStrategy[tuple[Member, ...]] = member_lists) -> st.SearchStrategy[Spec]:
    """Whole specs, whose three lists are from `lists`."""
    return st.builds(
        Spec,
        users=lists,
        managers=lists,
        sudoers=lists,
        requester=st.sampled_from(["", "alice@loblaw.digital"]),
        billing=st.builds(
            Billing,
            cost_center=texts,
            labels=st.dictionaries(texts, texts, max_size=2),
        ),
        deletion_policy=st.sampled_from(DeletionPolicy),
        deletion_protection=st.booleans(),
    )


def lnamespaces(
    names: st.SearchStrategy[str] = tenants,
    lists: st.SearchStrategy[tuple[Member, ...]] = member_lists,
) -> st.SearchStrategy[LNamespace]:
    """Whole LNamespaces, as they come from the API server."""
    metadata = st.builds(
        Metadata,
        name=names,
        uid=uids,
        resource_version=st.integers(1, 10**9).map(str),
        generation=st.integers(1, 9),
    )
    return st.builds(LNamespace, metadata=metadata, spec=specs(lists))


def schema_values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that the API server takes by the schema."""
    match schema["type"]:
        case "object" if "properties" in schema:
            required = set(schema.get("required", ()))
            properties = {k: schema_values(v) for k, v in schema["properties"].items()}
            return st.fixed_dictionaries(
                {k: v for k, v in properties.items() if k in required},
                optional={k: v for k, v in properties.items() if k not in required},
            )
        case "object":
            return st.dictionaries(
                st.text(max_size=5), schema_values(schema["additionalProperties"]), max_size=3
            )
        case "array":
            return st.lists(schema_values(schema["items"]), max_size=3)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-(2**63), 2**63 - 1)
        case _:
            return _texts(schema)


def _texts(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("format") == "date-time" or schema.get("nullable"):
        return st.sampled_from(MOMENTS)
    if schema.get("pattern") == CLASS_NAME:
        return st.one_of(st.just(""), dns_labels)
    return st.text(letters, min_size=schema.get("minLength", 0), max_size=8)


def manifests(crd: dict[str, Any], version: str) -> st.SearchStrategy[dict[str, Any]]:
    """LNamespaces in a version of the API as the API server has them, by their schema."""
    (found,) = (v for v in crd["spec"]["versions"] if v["name"] == version)
    spec = found["schema"]["openAPIV3Schema"]["properties"]["spec"]
    lists = {name: _lists(spec["properties"][name]) for name in ("users", "managers", "sudoers")}
    billing = _billing(spec["properties"]["billing"])
    rest = schema_values(spec).map(lambda s: {k: v for k, v in s.items() if k not in lists})
    return st.builds(
        lambda rest, chosen, metadata: {
            "apiVersion": f"{crd['spec']['group']}/{version}",
            "kind": crd["spec"]["names"]["kind"],
            "metadata": metadata,
            "spec": rest | chosen,
        },
        rest,
        st.fixed_dictionaries({}, optional=lists | {"billing": billing}),
        _metadata(),
    )


def _lists(schema: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    """Entries as the server defaults them, no two of one key."""
    keys = schema["x-kubernetes-list-map-keys"]
    item = schema_values(schema["items"]).map(lambda m: {"kind": "User", "namespace": ""} | m)
    return st.lists(item, max_size=4, unique_by=lambda m: tuple(m[key] for key in keys))


def _billing(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """With keys that both versions use, in every place."""
    keys = st.sampled_from(["team", "owner", "labels", "provenance", "superseded", "app", ""])
    some = st.dictionaries(keys, texts, max_size=4)
    if "additionalProperties" in schema:
        return st.one_of(some, schema_values(schema))
    return st.builds(
        lambda billing, labels: billing | labels,
        schema_values(schema),
        st.fixed_dictionaries({}, optional={"labels": some}),
    )


def _metadata() -> st.SearchStrategy[dict[str, Any]]:
    pairs = st.dictionaries(st.sampled_from(["a", "b.c/d"]), st.text(max_size=5), min_size=1)
    return st.fixed_dictionaries(
        {"name": tenants},
        optional={
            "uid": uids,
            "labels": pairs,
            "annotations": pairs,
            "generation": st.just(3),
        },
    )
