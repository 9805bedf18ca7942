"""Kubernetes' RBAC authorizer, over the Roles and bindings of one tenant.

An authorizer belongs to one state of a :class:`~lnamespace.rbac.store.RoleStore`. It caches its
decisions by the attributes of a request without the object's name.
"""

from collections.abc import Iterator
from typing import NamedTuple

from lnamespace.rbac.aggregation import Rules
from lnamespace.rbac.attributes import MASTERS, AccessDecision, Attributes, User
from lnamespace.rbac.objects import AccessRule, BindingSubject, RbacBinding, RoleReference, Strings
from lnamespace.rbac.rules import rule_matches
from lnamespace.rbac.store import NOTHING, RoleStore
from lnamespace.translate.protocol.quoting import go_quote

ANYTHING = AccessDecision(allowed=True)
SUDO = AccessDecision(allowed=True, reason="allowed by the sudoers of the LCluster")
_TOO_MUCH = AccessDecision(allowed=False, reason="RBAC: there are too many rules to read")

_REMEMBERED = 4096
"""The most questions that an authorizer remembers; all are forgotten when there are more."""
_LONGEST = 1024
"""The most characters of a question that is remembered: the client chooses its words."""

MOST_WORDS = 500_000
"""The most verbs, groups, resources and URLs of rules that are read for one question.

Rights of a user beyond this number do not count, so that no tenant waits for the rules of another.
"""

_Question = tuple[str | Strings | bool, ...]
_Answer = tuple[tuple[Strings, AccessDecision], ...]
"""The decisions for objects of some names, in order; the last is for all others."""
_Bound = tuple[RbacBinding, BindingSubject, Rules | None]


class HeldRules(NamedTuple):
    """The rights of somebody, as rules.

    Parameters
    ----------
    missing
        The roles of bindings that do not exist.
    complete
        Whether there are no more rules than these.
    """

    rules: list[AccessRule]
    missing: list[RoleReference]
    complete: bool


class Authorizer:
    """An authorizer by one state of a tenant's Roles and bindings."""

    def __init__(self, store: RoleStore) -> None:
        self.store = store
        self._answers: dict[_Question, _Answer] = {}

    def allows(self, user: User, attributes: Attributes) -> AccessDecision:
        """Return whether a user may do something, and which binding allows it.

        The reason of a refusal is empty, or names what could not be resolved.
        """
        if MASTERS in user.groups:
            return ANYTHING
        if user.sudoer and _is_sudo(user, attributes):
            return SUDO
        key = (
            user.name,
            user.groups,
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource,
            attributes.namespace,
            attributes.path,
            attributes.resource_request,
        )
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answer(user, attributes)
            self._remember(key, answer)
        for names, decision in answer:
            if not names or attributes.name in names:
                return decision
        raise AssertionError(answer)  # the last entry is for all names

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return the rules that apply to a user in a namespace."""
        rules: list[AccessRule] = []
        missing: list[RoleReference] = []
        words = 0
        for binding, _, found in self._bound(user, namespace):
            if found is None:
                missing.append(binding.role)
                continue
            words += sum(map(_words, found))
            if words > MOST_WORDS:
                return HeldRules(rules, missing, complete=False)
            rules.extend(found)
        return HeldRules(rules, missing, complete=True)

    def rules_of(self, role: RoleReference, namespace: str) -> Rules | None:
        """Return the rules of a role that a binding in a namespace grants, or None."""
        if role.kind == "ClusterRole":
            return self.store.cluster_roles.rules_of(role.name)
        if role.kind == "Role" and namespace:
            found = self.store.namespaces.get(namespace, NOTHING).roles.get(role.name)
            return None if found is None else found.rules
        return None

    def _bound(self, user: User, namespace: str) -> Iterator[_Bound]:
        """Yield the bindings that apply to a user, with their rules; None if there is no role."""
        store = self.store
        for binding, subject in store.base.bindings.of_user(user):
            yield binding, subject, self._base_rules(binding.role.name)
        for binding, subject in store.cluster_bindings.of_user(user):
            yield binding, subject, self.rules_of(binding.role, "")
        if namespace:
            scope = store.namespaces.get(namespace, NOTHING)
            for binding, subject in scope.bindings.of_user(user):
                yield binding, subject, self.rules_of(binding.role, namespace)

    def _base_rules(self, name: str) -> Rules | None:
        """Return the rules of a role of the base: never those of a tenant's object of its name."""
        store = self.store
        if name in store.base.rules:
            return store.base.rules[name]
        if name in store.cluster_roles.published:
            return store.cluster_roles.rules_of(name)
        return None

    def _answer(self, user: User, attributes: Attributes) -> _Answer:
        answer: list[tuple[Strings, AccessDecision]] = []
        errors: list[str] = []
        words = 0
        for binding, subject, rules in self._bound(user, attributes.namespace):
            if rules is None:
                errors.append(role_not_found(binding.role))
                continue
            for rule in rules:
                words += _words(rule)
                if words > MOST_WORDS:
                    return (*answer, ((), _TOO_MUCH))
                if not rule_matches(rule, attributes):
                    continue
                names = rule.resource_names if attributes.resource_request else ()
                answer.append((names, _allowed_by(binding, subject)))
                if not names:
                    return tuple(answer)
        reason = f"RBAC: {aggregate_error(errors)}" if errors else ""
        return (*answer, ((), AccessDecision(allowed=False, reason=reason)))

    def _remember(self, key: _Question, answer: _Answer) -> None:
        if _length(key) > _LONGEST:
            return
        if len(self._answers) >= _REMEMBERED:
            self._answers.clear()
        self._answers[key] = answer


def _words(rule: AccessRule) -> int:
    """Return the number of words of a rule."""
    return (
        1
        + len(rule.verbs)
        + len(rule.api_groups)
        + len(rule.resources)
        + len(rule.resource_names)
        + len(rule.non_resource_urls)
    )


def _length(question: _Question) -> int:
    texts = (part for part in question if isinstance(part, str))
    groups = (part for part in question if isinstance(part, tuple))
    return sum(map(len, texts)) + sum(len(group) for part in groups for group in part)


def _is_sudo(user: User, attributes: Attributes) -> bool:
    """Return whether a sudoer asks to impersonate themselves, or group ``system:masters``."""
    if (attributes.verb, attributes.group) != ("impersonate", "") or attributes.subresource:
        return False
    wanted = (attributes.resource, attributes.name)
    return wanted in {("users", user.name), ("groups", MASTERS)}


def _allowed_by(binding: RbacBinding, subject: BindingSubject) -> AccessDecision:
    name = f"{binding.name}/{binding.namespace}" if binding.namespace else binding.name
    kind = "RoleBinding" if binding.namespace else "ClusterRoleBinding"
    role, whom = binding.role, subject.name
    if subject.kind == "ServiceAccount":
        whom = f"{subject.name}/{subject.namespace or binding.namespace}"
    return AccessDecision(
        allowed=True,
        reason=f"RBAC: allowed by {kind} {go_quote(name)} of {role.kind} {go_quote(role.name)}"
        f" to {subject.kind} {go_quote(whom)}",
    )


def role_not_found(role: RoleReference) -> str:
    """Return the error of Kubernetes' RBAC authorizer about a role that does not exist."""
    if role.kind not in {"Role", "ClusterRole"}:
        return f"unsupported role reference kind: {go_quote(role.kind)}"
    kind = role.kind.lower()
    return f"{kind}.rbac.authorization.k8s.io {go_quote(role.name)} not found"


def aggregate_error(messages: list[str]) -> str:
    """Return errors as one, as Kubernetes' aggregate of errors prints them."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
