"""What `lnamespace gateway check` says of a platform's cluster, without one."""

import io
from typing import Any

import pytest
from lnamespace.gateway.check.command import print_findings
from lnamespace.gateway.check.finding import CheckFinding, Severity
from lnamespace.gateway.check.findings import find_problems
from lnamespace.gateway.check.kind_findings import OWN_WORDS
from lnamespace.gateway.check.listing import DefinedKind, UnlistableKind
from lnamespace.gateway.check.rights import AccountRight, needed_rights
from lnamespace.gateway.check.state import (
    FreeVolume,
    GroupBinding,
    PlatformState,
    UnavailableService,
)
from lnamespace.kube.metadata import PartialMetadata
from lnamespace.kube.objects import RbacSubject
from lnamespace.kube.prefixed import ALL_KINDS, ClusterObject
from lnamespace.kube.resources import CLUSTER_ROLE, CUSTOM_RESOURCE_DEFINITION, NAMESPACE, Resource
from lnamespace.model.names import Names
from lnamespace.runtime.tables import print_table
from lnamespace.translate.discovery.published import decode_published
from lnamespace.translate.objects.confinement.definitions import PLATFORM_NAMES
from rich.console import Console

NAMES = Names()
ACCOUNT = "lnamespace-system/lnamespace-gateway"
MUTATING = "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy"
NOBODY = AccountRight("get", resource="nothing")


ISSUERS = decode_published(
    """{"customResources": [{"group": "certs.example.com", "clusterScoped": {"issuers": ["main"]},
    "namespaced": ["certificates"]}]}"""
)


def thing(name: str, kind: Resource = NAMESPACE, tenant: str = "") -> ClusterObject:
    """Return an object of the platform, or one with the label of an LCluster."""
    labels = {NAMES.lcluster_label: tenant} if tenant else {}
    return ClusterObject(kind, PartialMetadata("1", name, labels=labels))


def kind_of(plural: str) -> Resource:
    return next(each for each in ALL_KINDS if each.plural == plural)


FENCES = tuple(
    thing("lnamespace-gateway", kind_of(plural))
    for plural in ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
)


def named(definition: str, *words: str) -> DefinedKind:
    """Return the kind of a definition that kubectl calls so."""
    plural, _, group = definition.partition(".")
    return DefinedKind(definition, group, "Load", plural, frozenset(), words=frozenset(words))


def told(**state: Any) -> list[str]:
    """Return the findings about a cluster that is otherwise as it should be, for a table."""
    return [f"{each.severity}: {each.about}: {each.cell}" for each in findings(**state)]


def findings(**state: Any) -> tuple[CheckFinding, ...]:
    """Return the findings about a cluster that is otherwise as it should be."""
    objects = (*FENCES, *state.pop("objects", ()))
    as_it_should_be: dict[str, Any] = {
        "version": (1, 36),
        "lclusters": frozenset({"acme"}),
        "client_authorities": True,
        "needed": 9,
        "kinds": frozenset({MUTATING}),
    }
    return find_problems(
        PlatformState(NAMES, ACCOUNT, objects=objects, **(as_it_should_be | state))
    )


def test_a_correctly_configured_cluster_has_no_findings() -> None:
    own = (
        thing("acme-prod", tenant="acme"),
        thing("acme-deployer", CLUSTER_ROLE, "acme"),
        thing("widgets.acme-example.com", CUSTOM_RESOURCE_DEFINITION, "acme"),
    )
    assert told(objects=own) == []


@pytest.mark.parametrize(
    ("state", "severity", "words"),
    [
        ({"version": (1, 29)}, Severity.PROBLEM, "no ValidatingAdmissionPolicies"),
        ({"version": (1, 99)}, Severity.WARNING, "this release of LNamespace knows"),
        ({"objects": [thing("acme-old")]}, Severity.PROBLEM, "begins as those of LCluster acme"),
        (
            {"objects": [thing("acme-deployer", CLUSTER_ROLE)]},
            Severity.PROBLEM,
            "clusterroles acme-deployer: the name begins as those of LCluster acme",
        ),
        (
            {"objects": [thing("widgets.acme-corp.com", CUSTOM_RESOURCE_DEFINITION)]},
            Severity.PROBLEM,
            "begins as those of LCluster acme",
        ),
        ({"lnamespaces": ("acme-team",)}, Severity.PROBLEM, "lnamespaces acme-team: the name"),
        ({"aggregated": frozenset({"acme-x.io"})}, Severity.PROBLEM, "apiservices of acme-x.io"),
        ({"aggregated": frozenset({"policy"})}, Severity.PROBLEM, "answers a group of Kubernetes"),
        ({"aggregated": frozenset({"metrics.k8s.io"})}, Severity.NOTE, "do not have metrics.k8s"),
        (
            {"kinds": frozenset({"policy/v1 PodSecurityPolicy"})},
            Severity.WARNING,
            "policy/v1 PodSecurityPolicy: nobody has judged this kind",
        ),
        (
            {"objects": [thing("gone-x", tenant="gone")]},
            Severity.WARNING,
            "the label of LCluster gone, which there is not",
        ),
        ({"objects": [thing("cert-manager")]}, Severity.NOTE, "no LCluster can be called cert"),
        (
            {"objects": [thing("issuers.cert-manager.io", CUSTOM_RESOURCE_DEFINITION)]},
            Severity.NOTE,
            "the platform's kinds of cert-manager.io",
        ),
        ({"accounts": ("default", "acme")}, Severity.PROBLEM, "everything that LCluster acme is"),
        ({"kinds": frozenset({"v1 Pod"})}, Severity.NOTE, "this Kubernetes has no Mutating"),
        ({"distrusting": None}, Severity.NOTE, "the gateway has published no CA"),
        ({"distrusting": ("acme-prod",)}, Severity.WARNING, "pods of acme-prod do not trust"),
        ({"client_authorities": False}, Severity.WARNING, "no logins to LClusters"),
        (
            {"unlistable": (UnlistableKind("widgets.a.org", "v2", "conversion webhook failed"),)},
            Severity.PROBLEM,
            "customresourcedefinitions widgets.a.org: v2 cannot be listed: conversion webhook fail",
        ),
        (
            {"unavailable": (UnavailableService("v1.x.io", "ServiceNotFound: no such service"),)},
            Severity.PROBLEM,
            "apiservices v1.x.io: it does not answer (ServiceNotFound: no such service): meanwhile",
        ),
        (
            {"defined": (named("loads.example.org", "lc"),)},
            Severity.WARNING,
            "customresourcedefinitions loads.example.org: it takes lc: `kubectl get lc` may mean",
        ),
        (
            {"default_priorities": frozenset({"standard"})},
            Severity.NOTE,
            "priorityclasses: every LCluster sees standard",
        ),
        ({"missing": (NOBODY,)}, Severity.PROBLEM, "it may not get nothing"),
        ({"excessive": (NOBODY,)}, Severity.PROBLEM, "whoever has its token reaches everybody"),
        ({"unread": ("secrets",)}, Severity.PROBLEM, "secrets: you may not read it"),
        ({"secret_parameters": ("ceph",)}, Severity.WARNING, "storageclasses ceph"),
        (
            {"objects": [thing("fast", kind_of("storageclasses"))]},
            Severity.NOTE,
            "storageclasses: every LCluster sees fast",
        ),
        ({"published": ISSUERS}, Severity.NOTE, "issuers.certs.example.com: every LCluster sees m"),
        ({"published": ISSUERS}, Severity.NOTE, "may have certificates.certs.example.com"),
        (
            {"published": ISSUERS},
            Severity.WARNING,
            "customresourcedefinitions issuers.certs.example.com: it is to be published, and",
        ),
        (
            {"published": decode_published('{"runtimeClasses": ["gvisor", "kata-*"]}')},
            Severity.WARNING,
            "runtimeclasses gvisor: it is to be published, and there is none",
        ),
        (
            {
                "published": ISSUERS,
                "objects": [
                    thing("certificates.acme-certs.example.com", CUSTOM_RESOURCE_DEFINITION, "acme")
                ],
            },
            Severity.PROBLEM,
            "LCluster acme cannot reach it: what is published goes before it",
        ),
        (
            {
                "objects": [
                    thing("fast", kind_of("storageclasses")),
                    thing("acme-fast", kind_of("storageclasses"), "acme"),
                    thing("acme-slow", kind_of("storageclasses"), "acme"),
                ],
            },
            Severity.PROBLEM,
            "storageclasses acme-fast: LCluster acme cannot reach it",
        ),
        (
            {
                "default_classes": (thing("standard", kind_of("storageclasses")),),
                "published": decode_published('{"storageClasses": ["fast"]}'),
            },
            Severity.WARNING,
            "storageclasses standard: it is the default, which LClusters may not name",
        ),
    ],
)
def test_each_finding_is_reported_once_with_its_severity(
    state: dict[str, Any], severity: Severity, words: str
) -> None:
    about = [each for each in told(**state) if words in each]
    assert [each.partition(":")[0] for each in about] == [severity]


def test_a_published_default_class_is_no_finding() -> None:
    nginx = thing("nginx", kind_of("ingressclasses"))
    found = told(objects=(nginx,), default_classes=(nginx,))
    assert found == ["note: ingressclasses: every LCluster sees nginx"]


@pytest.mark.parametrize(
    ("published", "storage_class", "waits"),
    [
        ('["*"]', "fast", True),
        ('["fa*"]', "fast", True),
        ('["*", "fast"]', "fast", False),
        ('["slow"]', "fast", False),
        ('["*"]', "manual", False),
        ('["*"]', "", False),
    ],
)
def test_a_free_volume_for_which_claims_of_lclusters_wait_is_reported(
    published: str, storage_class: str, waits: bool
) -> None:
    found = told(
        objects=(thing("fast", kind_of("storageclasses")),),
        free_volumes=(FreeVolume("disk1", storage_class),),
        published=decode_published(f'{{"storageClasses": {published}}}'),
    )
    words = "warning: persistentvolumes disk1: it is free and not for LClusters"
    assert any(each.startswith(words) for each in found) is waits


def test_names_of_kubernetes_kinds_and_of_reserved_words_are_no_findings() -> None:
    kinds = frozenset(
        {MUTATING, "v1 Pod", "apps/v1 Deployment", "apiregistration.k8s.io/v1 APIService"}
    )
    objects = [thing("kube-system"), thing("system:node-proxier", CLUSTER_ROLE), thing("default")]
    assert told(kinds=kinds, objects=objects, accounts=("default",)) == []


def test_a_binding_for_everybody_is_reported_unless_it_is_a_default_binding() -> None:
    """A pod of one LCluster would read what is in the namespaces of all others."""
    everybody = (RbacSubject("Group", "system:authenticated"),)
    team = (RbacSubject("Group", "team"), RbacSubject("User", "system:authenticated"))
    found = told(
        bindings=(
            GroupBinding("all", "", "view", everybody),
            GroupBinding("some", "team", "view", team),
            GroupBinding("system:discovery", "", "system:discovery", everybody),
            GroupBinding("lnamespace:authenticated", "", "lnamespace:authenticated", everybody),
            GroupBinding("lnamespace-gateway", "kube-public", "lnamespace-gateway", everybody),
        )
    )
    assert len(found) == 2, found
    assert found[0].startswith("warning: clusterrolebindings all: gives view")
    assert found[1].startswith("warning: clusterrolebindings system:discovery: programs of every")


def test_discovery_for_people_and_the_platforms_own_programs_is_no_finding() -> None:
    subjects = (
        RbacSubject("Group", "employees"),
        RbacSubject("Group", "system:serviceaccounts:kube-system"),
    )
    binding = GroupBinding("system:discovery", "", "system:discovery", subjects)
    assert told(bindings=(binding,)) == []


@pytest.mark.parametrize(
    ("served", "missing"), [(True, ACCOUNT), (False, "LNamespaces of tenancy.loblaw.digital")]
)
def test_a_gateway_that_is_not_installed_is_one_note(served: bool, missing: str) -> None:
    """Whoever is logged in may list LClusters: such an account does not lack all rights."""
    state = PlatformState(
        NAMES,
        ACCOUNT,
        needed=2,
        missing=(NOBODY,),
        distrusting=None,
        served=served,
        has_account=False,
    )
    (found,) = find_problems(state)
    assert (found.severity, found.about) == (Severity.NOTE, "the gateway")
    assert found.found == f"it is not installed yet: this cluster has no {missing}"


def test_an_account_that_is_missing_beside_the_gateways_policies_is_a_problem() -> None:
    """The option is mistaken then, or somebody deleted it."""
    found = told(has_account=False, missing=(NOBODY,))
    assert found == [f"problem: {ACCOUNT}: it may not get nothing"]


def test_of_many_missing_rights_three_are_named() -> None:
    missing = tuple(AccountRight("get", resource=f"kind{n}") for n in range(9))
    (found,) = told(missing=missing)
    assert found.endswith(": it may not get kind0, get kind1, get kind2 and 6 more")


def test_a_missing_admission_policy_binding_is_reported() -> None:
    state = PlatformState(NAMES, ACCOUNT, needed=1, objects=FENCES[:1])
    (found,) = find_problems(state)
    assert (found.severity, found.about) == (
        Severity.PROBLEM,
        "validatingadmissionpolicybindings lnamespace-gateway",
    )


def test_findings_are_sorted_by_severity_and_long_lists_are_shortened() -> None:
    names = [thing(f"team{number}-x") for number in range(20)]
    found = told(objects=[*names, thing("acme-old")])
    assert [each.partition(":")[0] for each in found] == ["problem", "note"]
    assert found[1].count(",") == 7
    assert "and 12 more" in found[1]


def test_programs_are_told_all_names_and_whole_messages() -> None:
    names = [thing(f"team{number}-x") for number in range(20)]
    words = "conversion webhook failed: " + "x" * 300
    unlistable = (UnlistableKind("widgets.a.org", "v2", words),)
    problem, note = findings(objects=names, unlistable=unlistable)
    assert problem.found.endswith(words)
    assert problem.cell.endswith("xxx...")
    assert note.found.count(",") == 19
    assert "more" not in note.found


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("conversion webhook for a failed", "mend its conversion webhook"),
        ("request to convert CR from an invalid group/version: a/v1", "docs/runbook.md"),
        ("no answer in 10 s", '"A kind that cannot be listed"'),
    ],
)
def test_the_advice_about_a_kind_that_cannot_be_listed_is_about_its_cause(
    message: str, advice: str
) -> None:
    (found,) = findings(unlistable=(UnlistableKind("widgets.a.org", "v2", message),))
    assert advice in found.advice


def test_the_full_names_are_advised_where_another_kind_takes_the_short_ones() -> None:
    (found,) = findings(defined=(named("loads.example.org", "load", "lcluster", "lns"),))
    assert "it takes lcluster, lns" in found.found
    group = NAMES.group
    assert found.advice == f"write lclusters.{group}, lnamespaces.{group}"


def test_the_kinds_of_lnamespace_and_of_lclusters_take_no_words_of_others() -> None:
    """In LClusters the platform has allowed it, if it is so."""
    inside = "lnamespaces.acme-example.org"
    own = (named(f"lclusters.{NAMES.group}", "lc"), named(inside, "lns"))
    assert told(defined=own, objects=[thing(inside, CUSTOM_RESOURCE_DEFINITION, "acme")]) == []


def test_the_words_of_lnamespace_are_those_that_tenants_may_not_take() -> None:
    assert OWN_WORDS.keys() == PLATFORM_NAMES


def test_the_advice_about_discovery_names_the_document_that_has_it() -> None:
    everybody = (RbacSubject("Group", "system:authenticated"),)
    binding = GroupBinding("system:discovery", "", "system:discovery", everybody)
    (found,) = findings(bindings=(binding,))
    assert "docs/lcluster-security.md" in found.advice


def test_rights_are_written_as_in_kubectl() -> None:
    rights = {str(each) for each in needed_rights(NAMES, ACCOUNT)}
    assert "impersonate serviceaccounts acme in lnamespace-clusters" in rights
    assert "impersonate serviceaccounts lnamespace-gateway in lnamespace-system" in rights
    assert "impersonate userextras/lcluster-user.authentication.k8s.io" in rights
    assert "watch lclusters.tenancy.loblaw.digital" in rights


def test_escape_sequences_in_table_cells_are_quoted() -> None:
    out = io.StringIO()
    print_table(Console(file=out), ("A", "B"), [("", ("\x1b[31mred", ""))])
    assert out.getvalue() == "A\n'\\x1b[31mred'\n"


def test_an_existing_published_kind_is_reported_neither_as_missing_nor_as_hidden() -> None:
    definitions = [
        thing(f"{plural}.certs.example.com", CUSTOM_RESOURCE_DEFINITION)
        for plural in ("issuers", "certificates")
    ]
    found = told(published=ISSUERS, objects=definitions)
    assert not [each for each in found if "none" in each or "do not have" in each]


def test_the_gateway_needs_to_read_the_custom_resources_that_are_published() -> None:
    more = set(needed_rights(NAMES, ACCOUNT, ISSUERS)) - set(needed_rights(NAMES, ACCOUNT))
    assert {str(each) for each in more} == {
        f"{verb} issuers.certs.example.com" for verb in ("get", "list", "watch")
    }


def test_no_label_is_foreign_while_it_is_not_known_which_lclusters_there_are() -> None:
    """The advice would be to delete a Namespace of somebody's LCluster."""
    objects = [thing("acme-x", tenant="acme")]
    found = told(objects=objects, lclusters=frozenset(), unread=("lclusters",))
    assert not [each for each in found if "which there is not" in each]


@pytest.mark.parametrize(
    ("severities", "last"),
    [
        ("", "Passed: nothing leaks into LClusters, and nothing collides with them.\n"),
        ("note", "Passed: nothing leaks into LClusters, and nothing collides with them.\n"),
        ("warning note warning", "Passed, with warnings: 2. Look at them and decide.\n"),
        ("problem warning", "error: problems: 1. They are above, with what to do\n"),
    ],
)
def test_the_last_line_says_no_more_than_was_found(
    severities: str, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that nothing leaks, below a warning that schemas of others can be read."""
    print_findings([CheckFinding(Severity(each), "a", "b") for each in severities.split()])
    assert "".join(capsys.readouterr()).endswith(last)
