"""The clients of webhooks: upstream, the gateway's Service instead of the tenant's.

Each field upstream is a function of the tenant's field alone, so that a patch of one cannot
contradict the other: ``service`` as a whole, and ``caBundle`` with the gateway's CA before the
tenant's.
"""

import base64
import binascii
import re
from typing import Any

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.names.webhook_routes import TenantWebhook, WebhookRoute
from lnamespace.translate.objects.confinement.rules import ConfinedBody, Object

_MEMBERS = frozenset({"namespace", "name", "path", "port"})
_SEGMENT = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""A segment of a webhook's path: a DNS-1123 subdomain, as in Kubernetes."""
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_HIGHEST_PORT = 65535


def confine_client(holder: Object, field: str, subject: ConfinedBody) -> None:
    """Make the API server call the gateway instead of a webhook's own Service.

    The API server would call any Service, with names of the platform. The gateway calls the Service
    as the tenant, so that it reaches no other.

    Parameters
    ----------
    holder
        The object with the ``clientConfig``.
    field
        Its path.
    """
    config = holder.get("clientConfig")
    if not isinstance(config, dict):
        return
    if config.get("url"):
        raise subject.refuse(f"{field}.url", "use a Service of this cluster")
    client = _Client(field, subject)
    if config.get("service") is not None:
        config["service"] = client.service_up(config["service"])
    if config.get("caBundle"):
        config["caBundle"] = client.bundle_up(config["caBundle"])


def restore_client(holder: Object, view: TenantView) -> None:
    """Undo :func:`confine_client`, but for the names."""
    config = holder.get("clientConfig")
    route = view.webhook_route
    if not isinstance(config, dict) or route is None:
        return
    if isinstance(config.get("service"), dict):
        config["service"] = _service_down(config["service"], route)
    if isinstance(config.get("caBundle"), str):
        config["caBundle"] = _bundle_down(config["caBundle"], route)
        if not config["caBundle"]:
            del config["caBundle"]  # the gateway's alone, where its tenant wrote none


class _Client:
    """One webhook's client that is being confined."""

    def __init__(self, field: str, subject: ConfinedBody) -> None:
        self._field = field
        self._subject = subject

    def service_up(self, service: Any) -> Object:
        route = self._route()
        path = route.path_of(self._webhook(service))
        own = route.service
        return {"namespace": own.namespace, "name": own.name, "port": own.port, "path": path}

    def bundle_up(self, bundle: Any) -> str:
        route = self._route()
        try:
            text = base64.b64decode(bundle, validate=True).decode()
        except (TypeError, ValueError, binascii.Error) as error:
            raise self._refuse("caBundle", "unable to load root certificates") from error
        if not _CERTIFICATE.search(text):
            # After the gateway's own certificate the API server would accept any text.
            why = "unable to load root certificates: no certificate in PEM"
            raise self._refuse("caBundle", why)
        return base64.b64encode((route.authority + text).encode()).decode()

    def _route(self) -> WebhookRoute:
        route = self._subject.view.webhook_route
        if route is None:
            raise self._refuse("service", "the platform asks no webhooks of LClusters")
        return route

    def _webhook(self, service: Any) -> TenantWebhook:
        if not isinstance(service, dict) or not set(service) <= _MEMBERS:
            raise self._refuse("service", "it has namespace, name, path and port")
        namespace, name = service.get("namespace"), service.get("name")
        if not isinstance(namespace, str) or not isinstance(name, str) or not (namespace and name):
            raise self._refuse("service", "write its namespace and name, and all else, together")
        if not namespace.startswith(self._subject.view.prefix) or not _LABEL.fullmatch(namespace):
            raise self._refuse("service.namespace", "no such namespace")
        if not _LABEL.fullmatch(name):
            raise self._refuse("service.name", "no such Service")
        return TenantWebhook(namespace, name, self._port(service), self._path(service))

    def _port(self, service: Object) -> int:
        port = service.get("port", 443)
        if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= _HIGHEST_PORT:
            raise self._refuse("service.port", "must be between 1 and 65535, inclusive")
        return port

    def _path(self, service: Object) -> str:
        path = service.get("path") or ""
        if not isinstance(path, str) or (path and not path.startswith("/")):
            raise self._refuse("service.path", "must start with a '/'")
        segments = path.removeprefix("/").removesuffix("/").split("/") if path.strip("/") else []
        for number, segment in enumerate(segments):
            if not _SEGMENT.fullmatch(segment):
                why = f"segment[{number}]: a lowercase RFC 1123 subdomain is expected"
                raise self._refuse("service.path", why)
        if path.startswith("//"):
            raise self._refuse("service.path", "segment[0] may not be empty")
        return path

    def _refuse(self, member: str, why: str) -> Exception:
        return self._subject.refuse(f"{self._field}.{member}", why)


def _service_down(service: Object, route: WebhookRoute) -> Object:
    webhook = route.webhook_at(str(service.get("path", "")))
    if webhook is None:
        return service
    below: Object = {"namespace": webhook.namespace, "name": webhook.name}
    if webhook.path:
        below["path"] = webhook.path
    return below | {"port": webhook.port}


def _bundle_down(bundle: str, route: WebhookRoute) -> str:
    try:
        text = base64.b64decode(bundle).decode()
    except ValueError:
        return bundle
    return base64.b64encode(text.removeprefix(route.authority).encode()).decode()
