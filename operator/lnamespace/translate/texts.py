"""Texts for people: the tenant's own names in them lose the prefix on the way down.

A text is never parsed. A name counts as one where the prefix begins a word: after a quote, a blank,
a bracket or a colon, as a path segment after ``namespaces``, as the group of one of the tenant's
own kinds and as the namespace in the DNS name of a Service. Names of images are left alone.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lnamespace.translate.confinement.certificates import signer_down
from lnamespace.translate.confinement.policy_expressions import policy_expression_down
from lnamespace.translate.confinement.volumes import empty_class
from lnamespace.translate.plans import Leaf, Scope, object_of, text_of
from lnamespace.translate.platform_texts import without_platform
from lnamespace.translate.references import INERT
from lnamespace.translate.spellings import CLUSTER_ROLE
from lnamespace.translate.view import View

_BEGINNING = r"""(?:^|(?<=[\s"'`(\[{<=,:;|]))"""
_NOT_AN_IMAGE = r"""(?<!image ["'`])(?<!image )"""


_STORAGE_KEY = re.compile(r"/registry/[^\s,]+")
"""Where the API server keeps an object, which it says of one with another uid than is asked for."""
_CLUSTERS = "lnamespace-clusters"
"""What the namespace begins with of the accounts as which tenants act upstream."""
_ROLE = f"{CLUSTER_ROLE.kind}/"
_INERT_ROLE = _ROLE + INERT


@lru_cache(maxsize=4096)
def _names(tenant: str) -> re.Pattern[str]:
    prefix = re.escape(f"{tenant}-")
    return re.compile(
        rf"""{_BEGINNING}{_NOT_AN_IMAGE}{prefix}(?=[^\s"'`,;:)\]}}])"""
        rf"""|(?<=namespaces/){prefix}"""
        rf"""|(?<=\.){prefix}(?=[a-z0-9-]+\.svc\b)"""
    )


@lru_cache(maxsize=4096)
def _account(tenant: str) -> re.Pattern[str]:
    return re.compile(rf"system:serviceaccount:{_CLUSTERS}[a-z0-9-]*:{re.escape(tenant)}\b")


@lru_cache(maxsize=4096)
def _cells(tenant: str) -> re.Pattern[str]:
    beginning = r"(?:^|(?<=[/,\s])|(?<=system:serviceaccount:)|(?<=system:serviceaccounts:))"
    return re.compile(rf"{beginning}{re.escape(tenant)}-(?=[A-Za-z0-9*])")


def text_down(view: View, text: str, group: str = "", kept: str = "") -> str:
    """Return a text with this tenant's names in tenant spelling.

    Parameters
    ----------
    group
        An API group in tenant spelling that the text may name besides those that are served.
    kept
        The name of an object in a namespace, which stays although it may begin with the prefix.
    """
    text = without_platform(view, text)
    text = view.webhook_route.text_down(text) if view.webhook_route else text
    text = policy_expression_down(text, view)
    text = _identities_down(view, text)
    if view.prefix not in text:
        return text
    text = _groups_down(view, text, group)
    text = _STORAGE_KEY.sub(lambda key: _key_down(view, key[0], kept), text)
    if not kept.startswith(view.prefix):
        return _names(view.tenant).sub("", text)

    def spelled(found: re.Match[str]) -> str:
        return found[0] if text.startswith(f'{kept}"', found.start()) else ""

    return _names(view.tenant).sub(spelled, text)


def cell_down(view: View, text: str) -> str:
    """Return a cell of a printed table in tenant spelling: names, or lists of names."""
    if text == empty_class(view):
        return ""
    text = _identities_down(view, text).replace(_INERT_ROLE, _ROLE)
    if view.prefix in text:
        text = _cells(view.tenant).sub("", _groups_down(view, text, ""))
    return text


def user_cell_down(view: View, text: str) -> str:
    """Return a user in tenant spelling, or nothing if it is none of this tenant."""
    return view.user_down(text) or ""


def signer_cell_down(view: View, text: str) -> str:
    """Return the signer of certificates in tenant spelling."""
    return signer_down(text, view)


def object_down(view: View, text: str) -> str:
    """Return ``kind/name``, as tables of Events print objects, in tenant spelling."""
    kind, _, name = text.partition("/")
    cluster_scoped = {each.kind.lower() for each in view.resources.types if not each.namespaced}
    return f"{kind}/{cell_down(view, name)}" if kind in cluster_scoped else text


def _identities_down(view: View, text: str) -> str:
    """Return a text with the tenant's users, and without the account it acts as upstream."""
    if view.tenant not in text:
        return text
    text = text.replace(view.identity_prefix, "")
    return _account(view.tenant).sub("the cluster", text)


def _groups_down(view: View, text: str, group: str) -> str:
    for each in view.resources.custom_groups | ({group} if group else set()):
        text = text.replace(f".{view.prefix}{each}", f".{each}")
    return text


def _key_down(view: View, key: str, kept: str) -> str:
    above, slash, name = key.rpartition("/")
    below = name if name == kept else name.removeprefix(view.prefix)
    return above.replace(f"/{view.prefix}", "/") + slash + below


@dataclass(frozen=True)
class TextPlan(Leaf):
    """Translate a text for people; only on the way down."""

    def up(self, value: Any, scope: Scope) -> Any:
        """Return the text as it is."""
        del scope
        return value

    def down(self, value: Any, scope: Scope) -> Any:
        """Return the text with the tenant's names in tenant spelling."""
        if scope.mark not in bytes(value):
            return value
        text = text_of(value)
        return value if text is None else text_down(scope.view, text)


TEXT = TextPlan()
DISCOVERY_FAILURE = "NamespaceDeletionDiscoveryFailure"


@dataclass(frozen=True)
class NamespaceCondition(Leaf):
    """Translate a condition of a Namespace.

    When a Namespace is deleted and an API group cannot be read, its condition names the group,
    whosever it is.
    """

    guarded = False

    def up(self, value: Any, scope: Scope) -> Any:
        """Return the condition as it is."""
        del scope
        return value

    def down(self, value: Any, scope: Scope) -> Any:
        """Return the condition with its text in tenant spelling."""
        condition = object_of(value)
        if condition is None or "message" not in condition:
            return value
        failed = text_of(condition.get("type", b"null")) == DISCOVERY_FAILURE
        if failed and bytes(condition.get("status", b"")) == b'"True"':
            condition["message"] = "Discovery failed for some groups"
        else:
            condition["message"] = TEXT.down(condition["message"], scope)
        return condition
