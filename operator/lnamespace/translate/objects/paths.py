"""Translators written as tables: a path through an object, and the rule for the value there."""

from collections.abc import Mapping

from lnamespace.translate.objects.translators import (
    FieldRule,
    ListTranslator,
    MapTranslator,
    ObjectTranslator,
)


def translator_at(rules: Mapping[str, FieldRule]) -> ObjectTranslator:
    """Return the translator that has rules at some paths.

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
    return ObjectTranslator(dict(_member(head, nested) for head, nested in tree.items()))


def _member(head: str, nested: Mapping[str, FieldRule]) -> tuple[str, FieldRule]:
    rule = nested[""] if "" in nested else translator_at(nested)
    while head.endswith(("[]", "{}")):
        rule = ListTranslator(rule) if head.endswith("[]") else MapTranslator(rule)
        head = head[:-2]
    return head, rule


def merged(*translators: ObjectTranslator) -> ObjectTranslator:
    """Merge translators; where two have rules for a member, both must be plain translators."""
    rules: dict[str, FieldRule] = {}
    for translator in translators:
        for key, rule in translator.rules.items():
            present = rules.get(key)
            if isinstance(present, ObjectTranslator) and isinstance(rule, ObjectTranslator):
                rules[key] = merged(present, rule)
            else:
                rules[key] = rule
    return ObjectTranslator(rules)
