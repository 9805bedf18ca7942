"""LNamespaces and what is in them, good and bad, for property tests."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from lnamespace.model.lnamespace import Billing, DeletionPolicy, LNamespace, Metadata, Spec
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
            cost_center=st.text(max_size=5),
            labels=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
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
