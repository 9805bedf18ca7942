"""The keys of resource quotas that name a class or an API group.

- ``CLASS.storageclass.storage.k8s.io/requests.storage``, ``.../persistentvolumeclaims``
- ``CLASS.deviceclass.resource.k8s.io/devices``
- ``count/RESOURCE.GROUP``
"""

from collections.abc import Callable

from lnamespace.translate.plans import KeyPlan
from lnamespace.translate.resources import ResourceType
from lnamespace.translate.spellings import DEVICE_CLASS, STORAGE_CLASS
from lnamespace.translate.view import View

_CLASSES = {
    ".storageclass.storage.k8s.io": STORAGE_CLASS.resource,
    ".deviceclass.resource.k8s.io": DEVICE_CLASS.resource,
}
_COUNT = "count/"


def quota_key_up(view: View, key: str) -> str:
    """Return a key of a quota in upstream spelling."""
    return _translated(key, view.name_up, view.group_up)


def quota_key_down(view: View, key: str) -> str:
    """Return a key of a quota in tenant spelling."""
    return _translated(key, view.name_down, view.group_down)


def _translated(
    key: str,
    name: Callable[[ResourceType, str], str | None],
    group: Callable[[str], str | None],
) -> str:
    if key.startswith(_COUNT):
        plural, dot, rest = key.removeprefix(_COUNT).partition(".")
        return f"{_COUNT}{plural}{dot}{group(rest) or rest}"
    head, slash, what = key.partition("/")
    for suffix, resource in _CLASSES.items():
        if slash and head.endswith(suffix):
            own = head.removesuffix(suffix)
            return f"{name(resource, own) or own}{suffix}/{what}"
    return key


QUOTA_KEYS = KeyPlan(quota_key_up, quota_key_down)
