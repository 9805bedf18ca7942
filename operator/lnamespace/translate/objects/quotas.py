"""Resource names with a class or an API group, in quotas, containers and limits; quotas' scopes.

- ``deviceclass.resource.kubernetes.io/CLASS``, of quotas with ``requests.`` before it
- of quotas, ``CLASS.storageclass.storage.k8s.io/requests.storage``, ``.../persistentvolumeclaims``
- of quotas, ``CLASS.deviceclass.resource.k8s.io/devices``
- of quotas, ``count/RESOURCE.GROUP``
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.spellings import (
    DEVICE_CLASS_NAME,
    PRIORITY_CLASS_NAME,
    STORAGE_CLASS_NAME,
    VOLUME_ATTRIBUTES_CLASS_NAME,
    NameOf,
)
from lnamespace.translate.objects.translators import (
    KeyTranslator,
    Leaf,
    Spelling,
    list_of,
    object_of,
    text_at,
)
from lnamespace.translate.protocol.resources import ResourceType

_CLASSES = {
    ".storageclass.storage.k8s.io": STORAGE_CLASS_NAME.resource,
    ".deviceclass.resource.k8s.io": DEVICE_CLASS_NAME.resource,
}
CLASS_SUFFIXES = tuple(_CLASSES)
"""The text after the class in the name of a counted resource."""
_COUNT = "count/"
DEVICES = ("deviceclass.resource.kubernetes.io/", "requests.deviceclass.resource.kubernetes.io/")
"""The prefixes of the names of resources that are devices of a class."""


_SCOPES = {
    "PriorityClass": PRIORITY_CLASS_NAME,
    "VolumeAttributesClass": VOLUME_ATTRIBUTES_CLASS_NAME,
}
"""The scopes whose values are names of classes."""


def resource_key_up(view: TenantView, key: str) -> str:
    """Return a key of a resource in upstream spelling."""
    return _translated(key, view.name_up, view.group_up)


def resource_key_down(view: TenantView, key: str) -> str:
    """Return a key of a resource in tenant spelling."""
    return _translated(key, view.name_down, view.group_down)


def _translated(
    key: str, name: Callable[[ResourceType, str], str | None], group: Callable[[str], str | None]
) -> str:
    if key.startswith(_COUNT):
        plural, dot, rest = key.removeprefix(_COUNT).partition(".")
        return f"{_COUNT}{plural}{dot}{group(rest) or rest}"
    head, slash, what = key.partition("/")
    if key.startswith(DEVICES):
        return f"{head}/{name(DEVICE_CLASS_NAME.resource, what) or what}"
    for suffix, resource in _CLASSES.items():
        if slash and head.endswith(suffix):
            own = head.removesuffix(suffix)
            return f"{name(resource, own) or own}{suffix}/{what}"
    return key


RESOURCE_KEYS = KeyTranslator(resource_key_up, resource_key_down)
RESOURCE_NAME = Spelling(resource_key_up, resource_key_down)


@dataclass(frozen=True)
class QuotaScopeTranslator(Leaf):
    """The translation of one of ``spec.scopeSelector.matchExpressions``."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return a requirement in upstream spelling."""
        return _scope(value, lambda rule, each: rule.up(each, context))

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return a requirement in tenant spelling."""
        return _scope(value, lambda rule, each: rule.down(each, context))


def _scope(value: Any, translate: Callable[[NameOf, Any], Any]) -> Any:
    requirement = object_of(value)
    if requirement is None:
        return value
    rule = _SCOPES.get(text_at(requirement, "scopeName"))
    names = list_of(requirement.get("values", b"null"))
    if rule is not None and names is not None:
        requirement["values"] = [translate(rule, each) for each in names]
    return requirement
