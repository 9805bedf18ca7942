"""Compare the rights of the users' role with a vetted snapshot of it.

The users' role grows by itself: Kubernetes aggregates it from every ClusterRole with a certain
label, those of a new Kubernetes version and of add-ons included. Rights that the snapshot does not
have are *gained*, and somebody has to review them. Some rights are *refused* in any case.

Rights over cluster-scoped resources are refused even though a RoleBinding gives most of them
without effect: a role with them was not written for tenants. Rights over the Namespace object do
have an effect, because a RoleBinding covers the Namespace that it is in.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product

from lnamespace.kube.objects import PolicyRule
from lnamespace.kube.resources import RBAC

URL = "nonResourceURLs"
"""Stands for the API group of a right on a URL path; no API group has capital letters."""

_ALL = "*"
_READING = frozenset({"get", "list", "watch"})

_OF_THE_CLUSTER = {
    ("", "namespaces"): "the Namespace is the LNamespace's, not its users'",
    ("", "nodes"): "nodes are everybody's",
    ("", "persistentvolumes"): "volumes are the cluster's; one can show any folder of a node",
    (RBAC, "clusterroles"): "gives rights over the whole cluster",
    (RBAC, "clusterrolebindings"): "gives rights over the whole cluster",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "a kind is everybody's",
    ("apiregistration.k8s.io", "apiservices"): "takes over requests of everybody",
    ("certificates.k8s.io", "certificatesigningrequests"): "who gives certificates is anybody",
    ("certificates.k8s.io", "signers"): "who gives certificates is anybody",
    ("admissionregistration.k8s.io", _ALL): "webhooks and policies judge everybody's requests",
}


@dataclass(frozen=True, order=True)
class Right:
    """One verb on one resource (such as ``pods/exec``); an empty ``name`` means all names."""

    group: str
    resource: str
    verb: str
    name: str = ""


@dataclass(frozen=True)
class VettingResult:
    """A role compared with a snapshot; ``dangerous`` are vetted rights that are dangerous."""

    refused: tuple[Right, ...] = ()
    gained: tuple[Right, ...] = ()
    lost: tuple[Right, ...] = ()
    dangerous: tuple[Right, ...] = ()

    @property
    def passed(self) -> bool:
        """Return whether tenants may have the role; a lost right does not fail it."""
        return not self.refused and not self.gained


def vet_rights(present: frozenset[Right], vetted: frozenset[Right]) -> VettingResult:
    """Compare the rights of a role with the vetted ones."""
    refused = frozenset(right for right in present if refusal(right))
    gained = {right for right in present - refused if not covered(right, vetted)}
    return VettingResult(
        refused=tuple(sorted(refused)),
        gained=tuple(sorted(gained)),
        lost=tuple(sorted(right for right in vetted if not covered(right, present))),
        dangerous=tuple(sorted(right for right in present - refused - gained if warning(right))),
    )


def rights_of(rules: Iterable[PolicyRule]) -> frozenset[Right]:
    """Return the single rights that rules give."""
    return frozenset(right for rule in rules for right in _rights(rule))


def rules_of(rights: Iterable[Right]) -> tuple[PolicyRule, ...]:
    """Return rules that give the rights: one for each resource, sorted."""
    places = groupby(sorted(set(rights), key=_place), key=_place)
    return tuple(_rule(place, sorted(r.verb for r in given)) for place, given in places)


def covered(right: Right, rights: frozenset[Right]) -> bool:
    """Return whether ``rights`` include a right, also by a wildcard or for all names."""
    return any(wider in rights for wider in _wider(right))


def refusal(right: Right) -> str:
    """Return why no tenant may have the right; empty if one may."""
    base, _, sub = right.resource.partition("/")
    if _ALL in (right.group, right.verb, base) or right.resource == "/*":
        return "a wildcard gives what nobody has looked at yet"
    if (base, sub) == ("nodes", "proxy"):
        return "the kubelet runs commands in every pod of a node"
    if right.verb in _READING:
        return ""
    places = ((right.group, base), (right.group, _ALL))
    return next((_OF_THE_CLUSTER[place] for place in places if place in _OF_THE_CLUSTER), "")


def warning(right: Right) -> str:
    """Return why the right is dangerous; empty for most rights."""
    # Since Kubernetes 1.35 there are verbs such as impersonate:user-info too.
    if re.match(r"impersonate\b", right.verb):
        accounts = (right.group, right.resource) == ("", "serviceaccounts")
        return f"acts as {'any ServiceAccount of the namespace' if accounts else 'somebody else'}"
    if right.verb in ("escalate", "bind"):
        return "hands out rights that one does not have"
    if (right.group, right.resource) == ("", "serviceaccounts/token"):
        return "makes their tokens, which outlive the entry in the list"
    return ""


def _rights(rule: PolicyRule) -> Iterator[Right]:
    names = rule.resource_names or ("",)
    for group, resource, verb, name in product(rule.api_groups, rule.resources, rule.verbs, names):
        yield Right(group, resource, verb, name)
    for path, verb in product(rule.non_resource_urls, rule.verbs):
        yield Right(URL, path, verb)


def _place(right: Right) -> tuple[str, str, str]:
    return right.group, right.resource, right.name


def _rule(place: tuple[str, str, str], verbs: list[str]) -> PolicyRule:
    group, resource, name = place
    if group == URL:
        return PolicyRule(tuple(verbs), non_resource_urls=(resource,))
    return PolicyRule(tuple(verbs), (group,), (resource,), (name,) if name else ())


def _wider(right: Right) -> Iterator[Right]:
    """Yield the right and all rights that include it by the rules of RBAC."""
    if right.group == URL:
        yield from (replace(right, verb=verb) for verb in (right.verb, _ALL))
        return
    _, slash, sub = right.resource.partition("/")
    resources = (right.resource, _ALL, *([f"{_ALL}/{sub}"] if slash else ()))
    groups, verbs, names = (right.group, _ALL), (right.verb, _ALL), (right.name, "")
    yield from (Right(*wider) for wider in product(groups, resources, verbs, names))
