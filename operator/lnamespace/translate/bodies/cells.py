"""Cells of printed tables: the names in each column of each kind, and their spelling.

In a watch only the first table has the names of its columns. Without them, a cell is translated by
the first column of its kind that finds a name of the tenant in it: columns whose cells have a form
of their own come first.
"""

import re
from collections.abc import Callable, Mapping

from lnamespace.kube.resources import RBAC
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.certificates import signer_down
from lnamespace.translate.objects.confinement.volumes import empty_class
from lnamespace.translate.objects.load_balancers import addresses_down
from lnamespace.translate.objects.quotas import resource_key_down
from lnamespace.translate.objects.references import INERT
from lnamespace.translate.objects.spellings import CLUSTER_ROLE_NAME
from lnamespace.translate.objects.texts import text_down

Speller = Callable[[TenantView, str], str]
"""Returns a cell in tenant spelling."""

_ROLE = f"{CLUSTER_ROLE_NAME.kind}/"
_QUANTITY = re.compile(r"[^\s,]+(?=: )")
_IN_LIST = re.compile(r"[^\s,]+")


def own(view: TenantView, text: str) -> str:
    """Return a name without the prefix; a text with a slash is no name of an object."""
    if text == empty_class(view):
        return ""
    return text if "/" in text else text.removeprefix(view.prefix)


def _prefixed(view: TenantView, text: str) -> str:
    """Return a name without the prefix, also with slashes, as a controller's has."""
    return text.removeprefix(view.prefix)


def _object(view: TenantView, text: str) -> str:
    """Return ``kind/name`` or ``kind.group/name``; the kind decides the name's spelling."""
    kind, slash, name = text.partition("/")
    kind = kind.replace(f".{view.prefix}", ".")
    known = kind.lower() in view.resources.prefixed_words | view.resources.prefixed_kinds
    return f"{kind}{slash}{name.removeprefix(view.prefix) if known else name}"


def _namespaced_names(view: TenantView, text: str) -> str:
    """Return ``namespace/name``, or several of them, of objects in namespaces."""
    return _IN_LIST.sub(lambda each: _namespaced_name(view, each[0]), text)


def _namespaced_name(view: TenantView, text: str) -> str:
    namespace, slash, name = text.partition("/")
    return f"{namespace.removeprefix(view.prefix)}{slash}{name}" if slash else text


def _parent(view: TenantView, text: str) -> str:
    """Return ``resource[.group]/namespace/name``."""
    return text.replace(f"/{view.prefix}", "/", 1)


def _role(view: TenantView, text: str) -> str:
    name = text.removeprefix(_ROLE)
    return text if name == text else _ROLE + name.removeprefix(INERT).removeprefix(view.prefix)


def _users(view: TenantView, text: str) -> str:
    """Return users in a list, or groups of users."""
    return ", ".join(view.user_down(each) or _group(view, each) for each in text.split(", "))


def _group(view: TenantView, text: str) -> str:
    return view.user_group_down(text) or text


def _quantities(view: TenantView, text: str) -> str:
    """Return ``resource: used/hard`` in a list."""
    return _QUANTITY.sub(lambda key: resource_key_down(view, key[0]), text)


def _requester(view: TenantView, text: str) -> str:
    """Return a user, or nothing if it is none of this tenant."""
    return view.user_down(text) or ""


def _signer(view: TenantView, text: str) -> str:
    return signer_down(text, view)


_ADMISSION = "admissionregistration.k8s.io"
_EVENTS: Mapping[str, Speller] = {"Object": _object, "Message": text_down}
_BINDINGS: Mapping[str, Speller] = {
    "Role": _role,
    "Users": _users,
    "Groups": _users,
    "ServiceAccounts": _namespaced_names,
}
_POLICY: Mapping[str, Speller] = {"ParamKind": TenantView.api_version_down}
_POLICY_BINDING: Mapping[str, Speller] = {"ParamRef": _namespaced_names, "PolicyName": own}
PRINTED_NAMES: Mapping[tuple[str, str], Mapping[str, Speller]] = {
    ("", "events"): _EVENTS,
    ("", "persistentvolumeclaims"): {
        "Volume": own,
        "StorageClass": own,
        "VolumeAttributesClass": own,
    },
    ("", "persistentvolumes"): {
        "Claim": _namespaced_names,
        "StorageClass": own,
        "VolumeAttributesClass": own,
        "Reason": text_down,
    },
    ("", "services"): {"External-IP": addresses_down},
    ("", "resourcequotas"): {"Request": _quantities, "Limit": _quantities},
    ("apps", "controllerrevisions"): {"Controller": _object},
    ("certificates.k8s.io", "certificatesigningrequests"): {
        "SignerName": _signer,
        "Requestor": _requester,
    },
    ("events.k8s.io", "events"): _EVENTS,
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): {"PriorityLevel": own},
    ("networking.k8s.io", "ingressclasses"): {"Parameters": _object, "Controller": _prefixed},
    ("networking.k8s.io", "ingresses"): {"Address": addresses_down, "Class": own},
    ("networking.k8s.io", "ipaddresses"): {"ParentRef": _parent},
    ("node.k8s.io", "runtimeclasses"): {"Handler": own},
    ("resource.k8s.io", "resourceslices"): {"Node": own, "Driver": own},
    ("storage.k8s.io", "csistoragecapacities"): {"StorageClassName": own},
    ("storage.k8s.io", "storageclasses"): {"Provisioner": _prefixed},
    ("storage.k8s.io", "volumeattachments"): {"Attacher": own, "PV": own, "Node": own},
    ("storage.k8s.io", "volumeattributesclasses"): {"DriverName": own},
    (RBAC, "clusterrolebindings"): _BINDINGS,
    (RBAC, "rolebindings"): _BINDINGS,
    **{(_ADMISSION, f"{what}admissionpolicies"): _POLICY for what in ("mutating", "validating")},
    **{
        (_ADMISSION, f"{what}admissionpolicybindings"): _POLICY_BINDING
        for what in ("mutating", "validating")
    },
}
"""The columns that show names, by resource, without that of the object's own name."""


def any_column_speller(spellers: Mapping[str, Speller]) -> Speller:
    """Return the speller for a cell whose column is not known."""

    def spelled(view: TenantView, text: str) -> str:
        found = (speller(view, text) for speller in spellers.values())
        return next((each for each in found if each != text), text)

    return spelled
