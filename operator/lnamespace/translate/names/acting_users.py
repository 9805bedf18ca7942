"""The user of a request, for the webhooks of a tenant.

Upstream a request has the tenant's account, or the gateway's. The user inside the tenant's cluster
is sent as an extra of the impersonation, which needs a right of its own.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.translate.names.tenant_view import TenantView

PERSON_EXTRA = "lcluster-user"
"""The extra with the sender's name, for the platform's audit log."""

WEBHOOK_CALLER = "lcluster:webhooks"
"""The sender of the gateway's calls to webhooks; no login has this name."""

ACTING_EXTRA = "lcluster-acting"
"""The extra whose one value is the ``userInfo`` inside the tenant's cluster, as JSON.

The API server authorizes each value of an extra, and a user may be in hundreds of groups.
"""

STORED_EXTRA = "lcluster-stored"
"""The extra of a write that may take versions out of ``status.storedVersions`` of a definition. Its
value is the UID and the generation of the one whose objects were all written since."""

PLATFORM = "system:platform"
"""The name that tenants see for all users and programs of the platform."""

_CONTROLLERS = f"{SERVICE_ACCOUNT_PREFIX}kube-system:"
_OF_KUBERNETES = frozenset(
    {
        "system:apiserver",
        "system:kube-controller-manager",
        "system:kube-scheduler",
        *(
            _CONTROLLERS + each
            for each in (
                "certificate-controller",
                "clusterrole-aggregation-controller",
                "cronjob-controller",
                "daemon-set-controller",
                "deployment-controller",
                "disruption-controller",
                "endpoint-controller",
                "endpointslice-controller",
                "endpointslicemirroring-controller",
                "ephemeral-volume-controller",
                "generic-garbage-collector",
                "horizontal-pod-autoscaler",
                "job-controller",
                "namespace-controller",
                "persistent-volume-binder",
                "pod-garbage-collector",
                "pv-protection-controller",
                "pvc-protection-controller",
                "replicaset-controller",
                "replication-controller",
                "resource-claim-controller",
                "resourcequota-controller",
                "root-ca-cert-publisher",
                "service-account-controller",
                "service-controller",
                "statefulset-controller",
                "ttl-after-finished-controller",
            )
        ),
    }
)
"""The parts of Kubernetes itself that every cluster has, by user name."""

_SAFE = "".join(chr(each) for each in range(0x21, 0x7F) if chr(each) != "%")
_PLAIN = re.compile("[!-$&-~]*")
"""A text that needs no encoding, as most do."""

UserInfo = dict[str, Any]


def extra_value(text: str) -> str:
    """Encode a text as the value of a header, which the API server does not decode."""
    return text if _PLAIN.fullmatch(text) else quote(text, safe=_SAFE)


def acts_for_tenant(info: Mapping[str, Any], view: TenantView) -> bool:
    """Return whether a ``userInfo`` is that of the tenant: of the gateway for it, or its pods'."""
    own = f"{SERVICE_ACCOUNT_PREFIX}{view.prefix}"
    return PERSON_EXTRA in (info.get("extra") or {}) or str(info.get("username")).startswith(own)


def user_info_down(info: Mapping[str, Any], view: TenantView) -> UserInfo:
    """Return the ``userInfo`` of a review in tenant spelling."""
    if acting := (info.get("extra") or {}).get(ACTING_EXTRA):
        return msgspec.json.decode(unquote(acting[0]), type=UserInfo)
    name = str(info.get("username", ""))
    own = view.user_down(name)
    if own and name.startswith(SERVICE_ACCOUNT_PREFIX):
        groups = (view.user_group_down(each) or each for each in info.get("groups") or ())
        return {"username": own, "uid": info.get("uid", ""), "groups": [*groups]}
    groups = (each for each in info.get("groups") or () if each.startswith("system:"))
    if name in _OF_KUBERNETES:
        return {"username": name, "groups": [*groups]}
    return {"username": PLATFORM, "groups": ["system:authenticated"]}
