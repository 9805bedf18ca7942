"""Judge the kinds of the platform's cluster: unknown, aggregated, custom ones."""

from collections.abc import Callable, Iterable, Iterator

from lnamespace.gateway.check.finding import (
    CheckFinding,
    Severity,
    group_of,
    name_all,
    name_some,
    quote,
)
from lnamespace.gateway.check.state import PlatformState
from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION
from lnamespace.translate.protocol.policies import BUILT_IN_GROUPS
from lnamespace.translate.protocol.protobuf.schema import schema_file

_WEBHOOK = "conversion webhook"
"""The beginning of what it says where one fails."""

OWN_WORDS = {
    word: plural
    for plural, words in (
        ("lnamespaces", ("lnamespace", "lns")),
        ("lclusters", ("lcluster", "lc")),
        ("billingrecords", ("billingrecord",)),
    )
    for word in (plural, *words)
}
"""What kubectl calls the kinds of LNamespace, and the plural of each."""


def find_kind_problems(state: PlatformState) -> Iterator[CheckFinding]:
    """Yield the findings about kinds."""
    for rule in _RULES:
        yield from rule(state)


def _unknown_kinds(state: PlatformState) -> Iterator[CheckFinding]:
    """Report kinds in Kubernetes' own groups that this release does not know."""
    known = schema_file()
    for each in sorted(state.kinds):
        api_version, _, kind = each.partition(" ")
        if known.message_of_kind(api_version, kind) is None:
            yield CheckFinding(
                Severity.WARNING,
                each,
                "nobody has judged this kind: LClusters have it if it is namespaced, and fields of "
                "it that name other objects are not translated",
                "update LNamespace",
            )


def _aggregated(state: PlatformState) -> Iterator[CheckFinding]:
    for group in sorted(state.aggregated & BUILT_IN_GROUPS):
        yield CheckFinding(
            Severity.PROBLEM,
            f"apiservices of {group or 'the core group'}",
            "an aggregated API server answers a group of Kubernetes, and LClusters would reach it",
            "remove the APIService, or do not switch the gateway on",
        )
    for each in state.unavailable:
        why = quote(each.why)
        yield CheckFinding(
            Severity.PROBLEM,
            f"apiservices {each.name}",
            f"it does not answer ({why}): meanwhile no Namespace of the cluster "
            "is deleted, and installations hang",
            "repair what answers for it, or remove the APIService",
            why,
        )
    if others := state.aggregated - BUILT_IN_GROUPS:
        some = name_all(others)
        yield CheckFinding(
            Severity.NOTE,
            "aggregated APIs",
            f"LClusters do not have {some}; `kubectl top` needs metrics.k8s.io",
            long=some,
        )


def _unlistable(state: PlatformState) -> Iterator[CheckFinding]:
    """Report kinds for which the namespace controller ends no namespace, whatever is in it."""
    for each in state.unlistable:
        mended = "mend its conversion webhook, or stop serving that version"
        other = 'see "A kind that cannot be listed" in docs/runbook.md'
        message = quote(each.message)
        advice = mended if each.message.startswith(_WEBHOOK) else other
        yield CheckFinding(
            Severity.PROBLEM,
            f"customresourcedefinitions {each.name}",
            f"{each.version} cannot be listed: {message}",
            "namespaces cannot be deleted while it fails (on Kubernetes 1.30: those with such "
            f"objects): {advice}",
            message,
        )


def _words(state: PlatformState) -> Iterator[CheckFinding]:
    """Report kinds of the platform for which kubectl may take the words for LNamespaces."""
    of_tenants = {each.metadata.name for each in state.objects if state.label_of(each)}
    for kind in state.defined:
        taken = sorted(kind.words & OWN_WORDS.keys())
        if taken and kind.group != state.names.group and kind.name not in of_tenants:
            full = sorted({f"{OWN_WORDS[each]}.{state.names.group}" for each in taken})
            yield CheckFinding(
                Severity.WARNING,
                f"customresourcedefinitions {kind.name}",
                f"it takes {name_some(taken)}: `kubectl get {taken[0]}` may mean this kind",
                f"write {name_some(full)}",
            )


def _definitions(state: PlatformState) -> Iterator[CheckFinding]:
    groups = {
        group_of(each)
        for each in state.objects
        if each.resource is CUSTOM_RESOURCE_DEFINITION and not state.label_of(each)
    }
    if hidden := groups - BUILT_IN_GROUPS - {state.names.group} - state.published.groups:
        some = name_all(hidden)
        yield CheckFinding(
            Severity.NOTE,
            "customresourcedefinitions",
            f"LClusters do not have the platform's kinds of {some}; they may have "
            "CustomResourceDefinitions of the same names",
            long=some,
        )


_RULES: tuple[Callable[[PlatformState], Iterable[CheckFinding]], ...] = (
    _aggregated,
    _unlistable,
    _unknown_kinds,
    _words,
    _definitions,
)
