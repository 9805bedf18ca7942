"""Match rules of admission policies, with the names of the objects that they match.

The scope of the rule's resources decides the spelling of a name. A rule about both scopes has both
spellings upstream; it then also matches a namespaced object of the tenant whose own name begins
with the prefix.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msgspec import Raw
from msgspec.json import encode

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.spellings import GROUP
from lnamespace.translate.objects.translators import (
    Encoded,
    Leaf,
    ListTranslator,
    list_of,
    object_of,
    text_at,
    text_of,
)
from lnamespace.translate.protocol.resources import ResourceType, ServingPolicy

_GROUPS = ListTranslator(GROUP)
_ANY = "*"
SPELL_NAMES = frozenset({"apiGroups", "resources", "resourceNames", "scope"})
"""The members that decide the spelling of names, and the names: not to be patched alone."""


@dataclass(frozen=True)
class MatchRuleTranslator(Leaf):
    """The translation of one of ``resourceRules`` or ``excludeResourceRules``."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a rule in upstream spelling."""
        rule = object_of(value)
        if rule is None:
            return value
        names = list_of(rule.get("resourceNames", b"null"))
        if names:
            texts = [each for each in map(text_of, names) if each is not None]
            if len(texts) < len(names):  # the API server refuses a name that is no text
                return value
            rule["resourceNames"] = _NamedKinds.from_rule(rule, context.view).above(texts)
        return _grouped(rule, _GROUPS.up, context)

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a rule in tenant spelling."""
        if context.tenant_bytes not in bytes(value):
            return value
        rule = object_of(value)
        if rule is None:
            return value
        rule = _grouped(rule, _GROUPS.down, context)
        names = [text_of(each) or "" for each in list_of(rule.get("resourceNames", b"null")) or ()]
        if names:
            rule["resourceNames"] = _NamedKinds.from_rule(_plain(rule), context.view).below(names)
        return rule


def _grouped(rule: Encoded, spell: Any, context: TranslationContext) -> Encoded:
    if "apiGroups" in rule:
        rule["apiGroups"] = spell(rule["apiGroups"], context)
    return rule


def _plain(rule: Encoded) -> Encoded:
    return {key: each if isinstance(each, Raw) else Raw(encode(each)) for key, each in rule.items()}


@dataclass(frozen=True)
class _NamedKinds:
    """The resources of a rule: those whose names have the prefix, and whether there are others."""

    view: TenantView
    prefixed: tuple[ResourceType, ...]
    others: bool

    @classmethod
    def from_rule(cls, rule: Encoded, view: TenantView) -> "_NamedKinds":
        """Read a rule in tenant spelling, which may have resources that are not known."""
        groups, resources = _texts(rule, "apiGroups"), _texts(rule, "resources")
        plurals = {each.partition("/")[0] for each in resources}
        found = [
            each
            for each in view.resources.types
            if (each.group in groups or _ANY in groups)
            and (each.plural in plurals or _ANY in plurals)
        ]
        reach = text_at(rule, "scope")
        known = {each.plural for each in found} >= plurals and _ANY not in groups | plurals
        prefixed = tuple(each for each in found if _is_prefixed(each) and reach != "Namespaced")
        plain = any(not _is_prefixed(each) for each in found)
        spelled = _spelled_apart(prefixed, view)
        return cls(view, spelled, not prefixed or (reach != "Cluster" and (plain or not known)))

    def spellings(self, name: str) -> list[str]:
        """Return the upstream spellings of a name."""
        above = [self.view.name_up(each, name) for each in self.prefixed]
        return list(dict.fromkeys([*above, *([name] if self.others else ())]))

    def above(self, names: list[str]) -> list[str]:
        """Return the upstream spellings of a tenant's names, each once.

        A name that the tenant wrote twice stays twice: the API server refuses that.
        """
        spelled = [each for name in names for each in self.spellings(name)]
        return spelled if _repeat(names) else list(dict.fromkeys(spelled))

    def below(self, names: list[str]) -> list[str]:
        """Return names as the tenant wrote them, from their one or two upstream spellings."""
        found: list[str] = []
        seen: set[str] = set()
        at, repeat = 0, _repeat(names)
        while at < len(names):
            own, spelled = self._written(names, at, seen)
            found.append(own)
            at += len(spelled)
            seen.update(() if repeat else spelled)
        return found

    def _written(self, names: list[str], at: int, seen: set[str]) -> tuple[str, list[str]]:
        """Return the tenant's name at a place, with its spellings that begin there.

        Those that were seen before stand there, as ``above`` writes each once.
        """
        below = [self.view.name_down(each, names[at]) for each in self.prefixed]
        for own in [*filter(None, below), names[at]]:
            spelled = [each for each in self.spellings(own) if each not in seen]
            if spelled and names[at : at + len(spelled)] == spelled:
                return own, spelled
        return names[at], [names[at]]


def _repeat(names: list[str]) -> bool:
    return len(set(names)) < len(names)


def _spelled_apart(types: Iterable[ResourceType], view: TenantView) -> tuple[ResourceType, ...]:
    """Return one of the types that spell names alike: each name is spelled by each of them.

    Of a rule for everything 34 KB of names took a second, by 60 types.
    """
    one = {
        each.group_resource if each.group_resource in view.spelled_apart else None: each
        for each in types
    }
    return tuple(one.values())


def _is_prefixed(resource: ResourceType) -> bool:
    return not resource.namespaced and resource.policy is not ServingPolicy.SHARED


def _texts(rule: Encoded, key: str) -> set[str]:
    return {text_of(each) or "" for each in list_of(rule.get(key, b"null")) or ()}
