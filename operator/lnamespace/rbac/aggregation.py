"""The ClusterRoles of one tenant, with those that are aggregated from others.

Kubernetes' controller copies rules into a ClusterRole with an ``aggregationRule`` from those that
its selectors select, until nothing changes. Here the final state is computed: the rules of all
ClusterRoles that can be reached and do not aggregate themselves. Beyond ``MOST_STEPS`` no further
rules are gathered, so that a large graph of one tenant does not delay the others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from lnamespace.rbac.objects import AccessRule, RbacRole

Rules = tuple[AccessRule, ...]

MOST_STEPS = 200_000
"""The most comparisons and steps for the ClusterRoles of one tenant in one state."""


@dataclass(frozen=True)
class ClusterRoleSet:
    """The ClusterRoles, with the rules of aggregated ones.

    Parameters
    ----------
    own
        The tenant's own ClusterRoles, by name.
    published
        The platform's that every tenant may name; an own one of the same name does not count.
        Their rules are as the platform has aggregated them; what they select among the tenant's
        own is added.
    """

    own: Mapping[str, RbacRole] = field(default_factory=dict)
    published: Mapping[str, RbacRole] = field(default_factory=dict)
    _rules: dict[str, Rules] = field(default_factory=dict, compare=False, repr=False)
    _selected: dict[str, tuple[RbacRole, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _steps: Iterator[int] = field(
        default_factory=lambda: iter(range(MOST_STEPS)), compare=False, repr=False
    )

    def rules_of(self, name: str) -> Rules | None:
        """Return the rules of a ClusterRole, or None if no ClusterRole has this name."""
        known = self._rules.get(name)
        if known is not None:
            return known
        role = self.published.get(name) or self.own.get(name)
        if role is None:
            return None
        rules = role.rules if role.aggregation is None else self._aggregated(role)
        self._rules[name] = rules
        return rules

    def with_own(self, role: RbacRole) -> "ClusterRoleSet":
        """Return the set with one of the tenant's own ClusterRoles created or replaced."""
        return ClusterRoleSet({**self.own, role.name: role}, self.published)

    def without_own(self, name: str) -> "ClusterRoleSet":
        """Return the set without one of the tenant's own ClusterRoles."""
        own = {key: role for key, role in self.own.items() if key != name}
        return ClusterRoleSet(own, self.published)

    def _aggregated(self, root: RbacRole) -> Rules:
        """Return the rules of the selected ClusterRoles, in the controller's order, each once."""
        rules: dict[AccessRule, None] = dict.fromkeys(self._rules_at_rest(root))
        seen, stack = {root.name}, list(reversed(self._selected_by(root)))
        while stack and self._may_go_on():  # no recursion: a tenant may chain any number
            role = stack.pop()
            if role.name in seen:
                continue
            seen.add(role.name)
            rules.update(dict.fromkeys(self._rules_at_rest(role)))
            if role.aggregation is not None:
                stack.extend(reversed(self._selected_by(role)))
        return tuple(rules)

    def _rules_at_rest(self, role: RbacRole) -> Rules:
        """Return the rules that a role has by itself; the controller overwrites a tenant's."""
        return role.rules if role.aggregation is None or role.name in self.published else ()

    def _selected_by(self, role: RbacRole) -> tuple[RbacRole, ...]:
        """Return the other ClusterRoles that a role's selectors select, in the order of names."""
        known = self._selected.get(role.name)
        if known is None:
            known = tuple(self._selecting(role))
            self._selected[role.name] = known
        return known

    def _selecting(self, role: RbacRole) -> Iterator[RbacRole]:
        for selector in dict.fromkeys(role.aggregation or ()):
            for other in self._pool:
                if not self._may_go_on():
                    return
                if other.name != role.name and selector.selects(other.labels):
                    yield other

    @cached_property
    def _pool(self) -> tuple[RbacRole, ...]:
        """Return all ClusterRoles in the order of their names."""
        pool = {**self.own, **self.published}
        return tuple(pool[name] for name in sorted(pool))

    def _may_go_on(self) -> bool:
        return next(self._steps, None) is not None
