"""Count what a tenant's objects cost the API server whoever's request it is.

For each write of a cluster-scoped object it matches the rules of all webhooks and admission
policies and evaluates their match conditions, 20 to 60 microseconds each. So each of these counts
one. What else is in a policy takes memory, a tenth of a megabyte for an expression and more for a
long one, and counts less. For each request it goes through all ClusterRoleBindings, too.
"""

from typing import Any

from lnamespace.translate.objects.confinement.schema_sizes import size_of

_EXPRESSIONS = frozenset({"expression", "messageExpression", "valueExpression"})
_WEIGHT = 256
"""The objects and items of lists that count one more: a rule has lists of any length."""
_EXPRESSION = 32
"""The objects that an expression weighs as much as: eight count one more."""
_CHARACTERS = 4
"""The characters of an expression that weigh one more: 1,024 count one more."""
_SUBJECTS = 16
"""The subjects of a ClusterRoleBinding that count one more: each took 8 ns, a binding 180."""


def admission_size(obj: dict[str, Any]) -> int:
    """Return what an object of ``admissionregistration.k8s.io`` counts, in tenant spelling."""
    found = obj.get("webhooks") or [obj.get("spec") or {}]
    conditions = sum(len(each.get("matchConditions") or ()) for each in found)
    return len(found) + conditions + (size_of(found) + _weight(found)) // _WEIGHT


def _weight(value: Any) -> int:
    """Return what the expressions in a value weigh."""
    weight, waiting = 0, [("", value)]
    while waiting:
        key, found = waiting.pop()
        if isinstance(found, dict):
            waiting += found.items()
        elif isinstance(found, list):
            waiting += [("", each) for each in found]
        elif key in _EXPRESSIONS and isinstance(found, str):
            weight += _EXPRESSION + len(found) // _CHARACTERS
    return weight


def binding_size(binding: dict[str, Any]) -> int:
    """Return what a ClusterRoleBinding counts: one, and one more for some subjects."""
    return 1 + len(binding.get("subjects") or ()) // _SUBJECTS
