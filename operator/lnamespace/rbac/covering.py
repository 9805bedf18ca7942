"""Find rules that others do not cover, as k8s.io/component-helpers/auth/rbac/validation does.

A rule is broken down into combinations of one group, one resource, one verb and one name, and each
must be covered by one rule of the owner. What an owner's rule covers as a whole is not broken down:
the answer is the same, and a client chooses how many combinations there are.
"""

from collections.abc import Iterable, Iterator, Sequence

from lnamespace.rbac.objects import AccessRule, Strings
from lnamespace.rbac.rules import ALL, compact_text, url_covers

MOST_COMBINATIONS = 10_000
MOST_COMPARISONS = 200_000


class TooManyCombinations(ValueError):
    """The rules have more combinations than are compared."""


def missing_rights(owner: Sequence[AccessRule], wanted: Iterable[AccessRule]) -> list[AccessRule]:
    """Return the combinations of the wanted rules that no rule of the owner covers.

    Raises
    ------
    TooManyCombinations
        If more than ``MOST_COMBINATIONS`` must be compared, or that takes too many comparisons.
    """
    held = _HeldRights(owner)
    further = [rule for rule in wanted if not held.cover(rule)]
    if sum(map(_combinations, further)) > MOST_COMBINATIONS:
        raise TooManyCombinations
    return [
        combination
        for rule in further
        for combination in _breakdown(rule)
        if not held.cover(combination)
    ]


def missing_text(missing: Iterable[AccessRule]) -> str:
    """Return rights as messages about escalation list them, those on one resource together."""
    simple: dict[tuple[Strings, Strings, Strings], list[str]] = {}
    texts: set[str] = set()
    for rule in missing:
        if rule.non_resource_urls:
            texts.add(compact_text(rule))
        else:
            key = rule.api_groups, rule.resources, rule.resource_names
            simple.setdefault(key, []).extend(rule.verbs)
    for (groups, resources, names), verbs in simple.items():
        texts.add(compact_text(AccessRule(tuple(verbs), groups, resources, names)))
    return "\n".join(sorted(texts, key=str.encode))


class _HeldRights:
    """The rules of an owner, by the resources that they name."""

    def __init__(self, rules: Iterable[AccessRule]) -> None:
        self._by_resource: dict[str, list[AccessRule]] = {}
        self._of_urls: list[AccessRule] = []
        self._comparisons = iter(range(MOST_COMPARISONS))
        for rule in rules:
            for resource in set(rule.resources):
                self._by_resource.setdefault(resource, []).append(rule)
            if rule.non_resource_urls:
                self._of_urls.append(rule)

    def cover(self, wanted: AccessRule) -> bool:
        """Return whether one rule covers all of a rule."""
        return any(self._covers(own, wanted) for own in self._candidates(wanted))

    def _candidates(self, wanted: AccessRule) -> Iterator[AccessRule]:
        """Yield the rules that may cover another: they are about its first resource."""
        if not wanted.resources:
            yield from self._of_urls
            return
        first = wanted.resources[0]
        for name in {ALL, first, _any_with_subresource(first)}:
            yield from self._by_resource.get(name, ())

    def _covers(self, own: AccessRule, wanted: AccessRule) -> bool:
        if next(self._comparisons, None) is None:
            raise TooManyCombinations
        return _covers(own, wanted)


def _covers(owner: AccessRule, rule: AccessRule) -> bool:
    """Return whether one rule of an owner covers all of a rule."""
    return (
        _has_all(owner.verbs, rule.verbs)
        and _has_all(owner.api_groups, rule.api_groups)
        and all(_covers_resource(owner.resources, each) for each in rule.resources)
        and _covers_names(owner.resource_names, rule.resource_names)
        and all(_covers_url(owner.non_resource_urls, each) for each in rule.non_resource_urls)
    )


def _has_all(own: Strings, wanted: Strings) -> bool:
    return ALL in own or set(own).issuperset(wanted)


def _covers_resource(own: Strings, resource: str) -> bool:
    return ALL in own or resource in own or _any_with_subresource(resource) in own


def _any_with_subresource(resource: str) -> str:
    """Return ``*/scale`` for ``deployments/scale``; a resource without subresource stays."""
    _, slash, subresource = resource.partition("/")
    return f"*/{subresource}" if slash else resource


def _covers_names(own: Strings, wanted: Strings) -> bool:
    return not own or (bool(wanted) and set(own).issuperset(wanted))


def _covers_url(own: Strings, url: str) -> bool:
    return any(url_covers(each, url) for each in own)


def _combinations(rule: AccessRule) -> int:
    of_resources = len(rule.api_groups) * len(rule.resources) * max(1, len(rule.resource_names))
    return (of_resources + len(rule.non_resource_urls)) * len(rule.verbs)


def _breakdown(rule: AccessRule) -> Iterator[AccessRule]:
    names: list[Strings] = [(name,) for name in rule.resource_names] or [()]
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for name in names:
                    yield AccessRule((verb,), (group,), (resource,), name)
    for url in rule.non_resource_urls:
        for verb in rule.verbs:
            yield AccessRule(verbs=(verb,), non_resource_urls=(url,))
