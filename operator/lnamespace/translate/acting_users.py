"""Who acts, as the webhooks of a tenant are told it.

Upstream a tenant has one account, or the gateway acts itself. Whom that is for inside the tenant's
cluster goes along as extras of the impersonation, which nobody sends without the right to each.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.translate.view import View

PERSON_EXTRA = "lcluster-user"
"""The extra by which the audit log of the platform has the true person."""

WEBHOOK_CALLER = "lcluster:webhooks"
"""The person for whom the gateway calls a webhook: no login has this name."""

USERNAME_EXTRA = "lcluster-username"
UID_EXTRA = "lcluster-uid"
GROUP_EXTRA = "lcluster-group"
EXTRA_EXTRA = "lcluster-extra"
"""Each value is KEY=VALUE of an extra inside the tenant's cluster."""

PLATFORM = "system:platform"
"""What people and programs of the platform are called: a tenant learns no name of theirs."""

_CONTROLLERS = f"{SERVICE_ACCOUNT_PREFIX}kube-system:"
_COMPONENTS = frozenset({"kube-controller-manager", "kube-scheduler", "apiserver"})

_SAFE = "".join(chr(each) for each in range(0x21, 0x7F) if chr(each) != "%")

UserInfo = dict[str, Any]


def extra_value(text: str) -> str:
    """Return a text as the value of a header, in which the API server decodes nothing."""
    return quote(text, safe=_SAFE)


def user_info_down(info: Mapping[str, Any], view: View) -> UserInfo:
    """Return ``userInfo`` of a review, as it is inside the tenant's cluster."""
    extra = info.get("extra") or {}
    if USERNAME_EXTRA in extra:
        return _acting({key: [unquote(each) for each in extra[key]] for key in extra})
    name = str(info.get("username", ""))
    own = view.user_down(name)
    if own and name.startswith(SERVICE_ACCOUNT_PREFIX):
        groups = (view.user_group_down(each) or each for each in info.get("groups") or ())
        return {"username": own, "uid": info.get("uid", ""), "groups": [*groups]}
    if _is_of_kubernetes(name):
        return {key: info[key] for key in ("username", "groups") if key in info}
    return {"username": PLATFORM, "groups": ["system:authenticated"]}


def _acting(extra: Mapping[str, list[str]]) -> UserInfo:
    found: UserInfo = {"username": extra[USERNAME_EXTRA][0], "groups": extra.get(GROUP_EXTRA, [])}
    if uid := extra.get(UID_EXTRA):
        found["uid"] = uid[0]
    further: dict[str, list[str]] = {}
    for each in extra.get(EXTRA_EXTRA, ()):
        key, _, value = each.partition("=")
        further.setdefault(key, []).append(value)
    return found | ({"extra": further} if further else {})


def _is_of_kubernetes(name: str) -> bool:
    """Return whether somebody is a part of Kubernetes itself, which every cluster has."""
    return name.startswith(_CONTROLLERS) or name.removeprefix("system:") in _COMPONENTS
