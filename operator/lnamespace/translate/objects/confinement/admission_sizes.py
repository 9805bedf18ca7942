"""Count what a tenant's objects cost the API server in the requests of everybody.

For each write of a cluster-scoped object the API server matches the rules of all webhooks and
admission policies, and evaluates their match conditions, in 20 to 60 microseconds each. So each
webhook, policy and condition counts one. The other expressions of a policy take memory, a tenth of
a megabyte or more, and count less. For each request the API server also goes through all
ClusterRoleBindings.
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
    """Return how much an object of ``admissionregistration.k8s.io`` in tenant spelling counts."""
    found = obj.get("webhooks") or [obj.get("spec") or {}]
    conditions = sum(len(each.get("matchConditions") or ()) for each in found)
    return len(found) + conditions + (size_of(found) + _weight(found)) // _WEIGHT


def _weight(value: Any) -> int:
    """Return the weight of the expressions in a value."""
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
    """Return how much a ClusterRoleBinding counts: one, and one more for some subjects."""
    return 1 + len(binding.get("subjects") or ()) // _SUBJECTS
