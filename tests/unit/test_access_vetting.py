"""What of a role is new, lost or never for tenants."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lnamespace.access.vetting import (
    URL,
    Right,
    covered,
    refusal,
    rights_of,
    rules_of,
    vet_rights,
    warning,
)
from lnamespace.kube.objects import PolicyRule

RBAC = "rbac.authorization.k8s.io"
PODS = Right("", "pods", "get")
NOTHING: frozenset[Right] = frozenset()

groups = st.sampled_from(["", "apps", RBAC, "*", "example.com"])
resources = st.sampled_from(["pods", "pods/exec", "namespaces", "*", "*/exec", "widgets"])
verbs = st.sampled_from(["get", "create", "*", "impersonate", "escalate"])
names = st.sampled_from(["", "", "one", "two"])
resource_rights = st.builds(Right, groups, resources, verbs, names)
url_rights = st.builds(
    Right, st.just(URL), st.sampled_from(["/metrics", "/healthz/*", "*"]), verbs, st.just("")
)
odd = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
odd_rights = st.builds(Right, odd.filter(lambda group: group != URL), odd, odd, odd)
rights = st.one_of(resource_rights, url_rights, odd_rights)
sets = st.frozensets(rights, max_size=12)


def test_a_rule_gives_every_verb_on_every_resource_of_every_group_and_name() -> None:
    rule = PolicyRule(("get", "list"), ("", "apps"), ("a", "b"), ("x", "y"))
    assert len(rights_of([rule])) == 16
    assert Right("apps", "b", "list", "y") in rights_of([rule])


def test_a_rule_on_paths_gives_its_paths_and_no_resource() -> None:
    rule = PolicyRule(("get",), non_resource_urls=("/metrics",))
    assert rights_of([rule]) == {Right(URL, "/metrics", "get")}


@given(sets)
def test_rights_survive_a_round_trip_through_rules(given_rights: frozenset[Right]) -> None:
    assert rights_of(rules_of(given_rights)) == given_rights


def test_each_resource_name_has_one_rule_with_sorted_verbs() -> None:
    listed = [Right("", "pods", verb, name) for verb in ("list", "get") for name in ("two", "one")]
    assert rules_of([*listed, Right(URL, "/metrics", "get")]) == (
        PolicyRule(("get", "list"), ("",), ("pods",), ("one",)),
        PolicyRule(("get", "list"), ("",), ("pods",), ("two",)),
        PolicyRule(("get",), non_resource_urls=("/metrics",)),
    )


@given(st.lists(rights, max_size=12), st.randoms())
def test_rules_do_not_depend_on_the_order_of_rights(many: list[Right], random: object) -> None:
    mixed = [*many]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert rules_of(mixed) == rules_of(frozenset(many))


@pytest.mark.parametrize(
    ("right", "why"),
    [
        (Right("", "*", "get"), "wildcard"),
        (Right("*", "pods", "get"), "wildcard"),
        (Right("", "pods", "*"), "wildcard"),
        (Right("", "*/status", "get"), "wildcard"),
        (Right("example.com", "*", "list", "one"), "wildcard"),
        (Right(URL, "*", "get"), "wildcard"),
        (Right(URL, "/*", "get"), "wildcard"),
        (Right(URL, "/metrics", "*"), "wildcard"),
        (Right("", "namespaces", "create"), "Namespace"),
        (Right("", "namespaces", "update"), "Namespace"),
        (Right("", "namespaces", "delete", "team-a"), "Namespace"),
        (Right("", "namespaces", "impersonate"), "Namespace"),
        (Right("", "namespaces/finalize", "update"), "Namespace"),
        (Right("", "namespaces/status", "patch"), "Namespace"),
        (Right("", "nodes", "patch"), "nodes"),
        (Right("", "nodes/proxy", "get"), "kubelet"),
        (Right("", "nodes/proxy", "create"), "kubelet"),
        (Right("", "persistentvolumes", "create"), "volumes"),
        (Right(RBAC, "clusterroles", "bind"), "whole cluster"),
        (Right(RBAC, "clusterrolebindings", "create"), "whole cluster"),
        (Right("admissionregistration.k8s.io", "validatingadmissionpolicies", "delete"), "judge"),
        (Right("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "patch"), "judge"),
        (Right("apiextensions.k8s.io", "customresourcedefinitions/status", "update"), "kind"),
        (Right("apiregistration.k8s.io", "apiservices", "create"), "requests"),
        (Right("certificates.k8s.io", "certificatesigningrequests/approval", "update"), "anybody"),
        (Right("certificates.k8s.io", "signers", "approve"), "anybody"),
    ],
)
def test_some_rights_are_refused_even_when_vetted(right: Right, why: str) -> None:
    assert why in refusal(right)
    found = vet_rights(frozenset({right}), frozenset({right}))
    assert found.refused == (right,)
    assert not found.passed


@pytest.mark.parametrize(
    "right",
    [
        Right("", "namespaces", "get"),
        Right("", "namespaces/status", "watch"),
        Right("", "nodes", "list"),
        Right("metrics.k8s.io", "nodes", "get"),
        Right("example.com", "namespaces", "update"),
        Right("example.com", "nodes", "patch"),
        Right(RBAC, "roles", "create"),
        Right(RBAC, "rolebindings", "delete"),
        Right(RBAC, "clusterroles", "list"),
        Right("", "serviceaccounts", "impersonate"),
        Right(URL, "/metrics", "get"),
        Right(URL, "/healthz/*", "get"),
    ],
)
def test_other_rights_pass_only_when_vetted(right: Right) -> None:
    assert vet_rights(frozenset({right}), frozenset({right})).passed
    found = vet_rights(frozenset({right}), NOTHING)
    assert found.gained == (right,)
    assert not found.passed


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (Right("", "serviceaccounts", "impersonate"), "acts as any ServiceAccount"),
        (Right("", "users", "impersonate"), "acts as somebody else"),
        (Right("authentication.k8s.io", "users", "impersonate:user-info"), "acts as somebody"),
        (Right("", "pods", "impersonate-on:user-info:list"), "acts as somebody"),
        (Right(RBAC, "roles", "escalate"), "hands out"),
        (Right(RBAC, "roles", "bind"), "hands out"),
        (Right("", "serviceaccounts/token", "create"), "tokens"),
    ],
)
def test_powerful_rights_are_reported_even_when_vetted(right: Right, said: str) -> None:
    assert said in warning(right)
    found = vet_rights(frozenset({right, PODS}), frozenset({right, PODS}))
    assert found.dangerous == (right,)
    assert found.passed


def test_a_lost_right_is_reported_and_passes() -> None:
    found = vet_rights(NOTHING, frozenset({PODS}))
    assert found.lost == (PODS,)
    assert found.passed


def test_a_right_on_all_names_covers_a_right_on_one_name() -> None:
    one, every = frozenset({Right("", "pods", "get", "web")}), frozenset({PODS})
    assert vet_rights(one, one).passed
    assert vet_rights(every, one).gained == (PODS,)
    assert vet_rights(one, every).gained == ()
    assert vet_rights(one, every).lost == (PODS,)


def test_a_wildcard_covers_every_vetted_right() -> None:
    everything = frozenset({Right("*", "*", "*")})
    assert (
        vet_rights(everything, frozenset({PODS, Right("apps", "x/scale", "get", "n")})).lost == ()
    )


def gives(wide: Right, right: Right) -> bool:
    """Compare a rule with a request as the API server's authorizer does (RBAC, RuleAllows)."""
    if (wide.group == URL) != (right.group == URL):
        return False
    if wide.group == URL:
        return wide.verb in ("*", right.verb) and wide.resource == right.resource
    _, slash, sub = right.resource.partition("/")
    return (
        wide.verb in ("*", right.verb)
        and wide.group in ("*", right.group)
        and (wide.resource in ("*", right.resource) or bool(slash and wide.resource == f"*/{sub}"))
        and wide.name in ("", right.name)
    )


@given(rights, sets)
@example(Right("", "pods/exec", "get"), frozenset({Right("*", "*/exec", "*")}))
@example(Right("", "pods", "get"), frozenset({Right("*", "*/", "*")}))
@example(Right(URL, "/metrics", "get"), frozenset({Right(URL, "/metrics", "*")}))
def test_coverage_of_rights_follows_rbac(right: Right, by: frozenset[Right]) -> None:
    assert covered(right, by) == any(gives(wide, right) for wide in by)


@given(sets, sets)
def test_every_right_is_vetted_new_or_refused(
    present: frozenset[Right], vetted: frozenset[Right]
) -> None:
    found = vet_rights(present, vetted)
    assert not {*found.refused} & {*found.gained}
    for right in present - {*found.refused, *found.gained}:
        assert any(gives(wide, right) for wide in vetted)
    assert all(refusal(right) for right in found.refused)
    assert {*found.lost} <= vetted


@given(sets, rights)
def test_every_added_right_is_refused_gained_or_already_covered(
    vetted: frozenset[Right], added: Right
) -> None:
    found = vet_rights(vetted | {added}, vetted)
    noticed = added in found.refused or added in found.gained
    assert noticed or covered(added, vetted)
