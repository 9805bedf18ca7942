"""The addresses in the status of Services and Ingresses that a load balancer of the tenant writes.

kube-proxy takes traffic for such an address on every node, as it does for ``spec.externalIPs``
(CVE-2020-8554, pkg/proxy/serviceport.go). Upstream an address of the tenant is written as a
host name below ``.invalid``, for which no node adds a rule. Host names stay as they are.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.metadata import WholeObjectTranslator
from lnamespace.translate.objects.translators import Encoded, Leaf, object_of, text_at

SUFFIX = ".lcluster.invalid"
_MODE = "VIP"
"""The mode that the API server gives to an address without one."""
_IN_A_NAME = str.maketrans(".:", "-x")
_IN_AN_ADDRESS = str.maketrans("-x", ".:")


@lru_cache(maxsize=4096)
def _written(tenant: str) -> re.Pattern[str]:
    modes = "(vip|proxy)"
    return re.compile(rf"([0-9a-fx-]+)\.{modes}(?:\.([a-z0-9.-]+))?\.{re.escape(tenant + SUFFIX)}")


def address_down(view: TenantView, text: str) -> str:
    """Return an address as it is printed: that of the tenant, or the text as it is."""
    found = _written(view.tenant).fullmatch(text)
    return found[1].translate(_IN_AN_ADDRESS) if found else text


def addresses_down(view: TenantView, text: str) -> str:
    """Return addresses with commas between them as they are printed."""
    return ",".join(address_down(view, each) for each in text.split(","))


@dataclass(frozen=True)
class BalancedAddress(Leaf):
    """The translation of an entry of ``status.loadBalancer.ingress``."""

    def up(self, value: Any, context: TranslationContext) -> Any:
        """Return the entry without an address; one that is none stays, and is refused."""
        entry = object_of(value)
        address = text_at(entry or {}, "ip")
        if entry is None or not _is_address(address):
            return value
        mode = text_at(entry, "ipMode") or _MODE
        host = text_at(entry, "hostname")
        name = (address.lower().translate(_IN_A_NAME), mode.lower(), host, context.view.tenant)
        others = {key: each for key, each in entry.items() if key not in {"ip", "ipMode"}}
        return others | {"hostname": ".".join(filter(None, name)) + SUFFIX}

    def down(self, value: Any, context: TranslationContext) -> Any:
        """Return the entry with the address that the tenant wrote."""
        entry = object_of(value)
        found = _written(context.view.tenant).fullmatch(text_at(entry or {}, "hostname"))
        if entry is None or found is None:
            return value
        below = {"ip": found[1].translate(_IN_AN_ADDRESS)}
        if context.resource.plural == "services":
            below["ipMode"] = {"vip": _MODE, "proxy": "Proxy"}[found[2]]
        if found[3]:
            below["hostname"] = found[3]
        return below | {key: each for key, each in entry.items() if key != "hostname"}


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return "%" not in text


@dataclass(frozen=True)
class BalancedTranslator(WholeObjectTranslator):
    """The translation of Services and Ingresses.

    The addresses of a Service that the platform balances are the platform's: who updates its whole
    status sends them as they were read. Of an Ingress the tenant writes some whatever its class is,
    for one that names none is given the platform's default.
    """

    def members_up(self, members: Encoded, context: TranslationContext) -> Encoded:
        """Translate an object in place and return it."""
        status = members.get("status")
        known = context.whole and status is not None
        platforms = known and _is_balanced_service(members, context)
        above = super().members_up(members, context)
        return above | {"status": status} if platforms else above


def _is_balanced_service(members: Encoded, context: TranslationContext) -> bool:
    """Return whether a whole object is a Service that is not balanced by the tenant's own."""
    spec = object_of(members.get("spec", b"null"))
    services = context.resource.plural == "services"
    return services and spec is not None and not text_at(spec, "loadBalancerClass")
