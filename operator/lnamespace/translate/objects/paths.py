"""Plans written as tables: a path through an object, and the rule for the value there."""

from collections.abc import Mapping

from lnamespace.translate.objects.plans import FieldRule, ListPlan, MapPlan, ObjectPlan


def plan_at(rules: Mapping[str, FieldRule]) -> ObjectPlan:
    """Return the plan that has rules at some paths.

    Parameters
    ----------
    rules
        By path, as in ``spec.volumes[].ephemeral``: ``[]`` is every item of an array, ``{}`` every
        value of a map. A path that begins with another path replaces what that one has there.
    """
    tree: dict[str, dict[str, FieldRule]] = {}
    for path, rule in rules.items():
        head, _, rest = path.partition(".")
        tree.setdefault(head, {})[rest] = rule
    return ObjectPlan(dict(_member(head, nested) for head, nested in tree.items()))


def _member(head: str, nested: Mapping[str, FieldRule]) -> tuple[str, FieldRule]:
    rule = nested[""] if "" in nested else plan_at(nested)
    while head.endswith(("[]", "{}")):
        rule = ListPlan(rule) if head.endswith("[]") else MapPlan(rule)
        head = head[:-2]
    return head, rule


def merged(*plans: ObjectPlan) -> ObjectPlan:
    """Merge plans; where two have rules for a member, both must be plain plans."""
    rules: dict[str, FieldRule] = {}
    for plan in plans:
        for key, rule in plan.rules.items():
            present = rules.get(key)
            if isinstance(present, ObjectPlan) and isinstance(rule, ObjectPlan):
                rules[key] = merged(present, rule)
            else:
                rules[key] = rule
    return ObjectPlan(rules)
