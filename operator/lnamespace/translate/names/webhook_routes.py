"""The routes of a tenant's webhooks, which the API server calls through the gateway.

Upstream, the client of each webhook is the gateway's own Service. Its path names the Service of the
tenant, which can be read from it again, so nothing is stored. By the path of a conversion webhook
the gateway also knows whether it is to be asked at all (decision 0066).
"""

import re
from dataclasses import dataclass, field
from functools import cached_property

PATH = "webhooks"
VERBATIM = "verbatim"
"""Takes its place where the gateway changes the version alone. It is as long: a definition may have
no room for one more byte."""
_PATHS = f"(?:{PATH}|{VERBATIM})"
_PARTS = re.compile(
    rf"/(?P<first>{_PATHS})/(?P<tenant>[a-z0-9]+)/(?P<key>[0-9a-f]+)/(?P<namespace>[a-z0-9-]+)"
    r"/(?P<name>[a-z0-9-]+)/(?P<port>[0-9]{1,5})(?P<path>/.*)?"
)


_NO_ENDPOINTS = (
    r"\b(?:no (?:endpoints available|service port [0-9]+ found) for service|service|endpoints)"
)
_NO_ANSWER = "the gateway does not answer"
"""Instead of what the API server says of a Service without pods: k8s.io/apiserver/pkg/util/proxy.

The gateway's Service is called so where the gateway is away, by the name that the platform gave it.
"""


@dataclass(frozen=True)
class GatewayService:
    """The gateway's Service for the API server's calls to webhooks of tenants."""

    namespace: str
    name: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "GatewayService":
        """Read ``NAMESPACE/NAME:PORT``.

        Raises
        ------
        ValueError
            The text has another form.
        """
        found = re.fullmatch(r"([a-z0-9-]+)/([a-z0-9-]+):([0-9]{1,5})", text)
        if not found:
            raise ValueError("must be NAMESPACE/NAME:PORT")
        return cls(found[1], found[2], int(found[3]))

    @property
    def host(self) -> str:
        """Return the name that its certificate is for."""
        return f"{self.name}.{self.namespace}.svc"


@dataclass(frozen=True)
class TenantWebhook:
    """A webhook of a tenant: one of its Services.

    Parameters
    ----------
    namespace
        In upstream spelling.
    path
        The path of the webhook; empty if the tenant wrote none.
    """

    namespace: str
    name: str
    port: int = 443
    path: str = ""


@dataclass(frozen=True)
class WebhookPath:
    """The webhook and the key in the path of a request of the API server.

    Parameters
    ----------
    verbatim
        Whether the webhook is not asked: of the objects the version alone is changed.
    """

    tenant: str
    key: str
    webhook: TenantWebhook
    verbatim: bool = False

    @classmethod
    def parse(cls, path: str) -> "WebhookPath | None":
        """Read a path of the gateway; None if it is no webhook's."""
        found = _PARTS.fullmatch(path)
        if found is None:
            return None
        namespace, name, port = found["namespace"], found["name"], int(found["port"])
        webhook = TenantWebhook(namespace, name, port, found["path"] or "")
        return cls(found["tenant"], found["key"], webhook, found["first"] == VERBATIM)

    def with_key(self, key: str) -> str:
        """Return the path with another key."""
        first, webhook = VERBATIM if self.verbatim else PATH, self.webhook
        at = f"{webhook.namespace}/{webhook.name}/{webhook.port}{webhook.path}"
        return f"/{first}/{self.tenant}/{key}/{at}"


def with_verbatim(path: str, *, verbatim: bool) -> str:
    """Return the path of a conversion webhook, asked or not; another path stays as it is."""
    asked, not_asked = f"/{PATH}/", f"/{VERBATIM}/"
    before, after = (asked, not_asked) if verbatim else (not_asked, asked)
    return after + path.removeprefix(before) if path.startswith(before) else path


@dataclass(frozen=True)
class WebhookRoute:
    """The route from the API server to the webhooks of one tenant.

    Parameters
    ----------
    authority
        The CA of the gateway's certificate there, in PEM.
    key
        A secret in the path: the API server sends no credentials.
    verbatim
        Whether the webhook is not asked to convert.
    """

    service: GatewayService
    tenant: str
    authority: str
    key: str = field(repr=False)
    verbatim: bool = False

    @cached_property
    def _base(self) -> str:
        return f"/{VERBATIM if self.verbatim else PATH}/{self.tenant}/{self.key}/"

    def path_of(self, webhook: TenantWebhook) -> str:
        """Return the path at which the gateway asks a webhook."""
        return f"{self._base}{webhook.namespace}/{webhook.name}/{webhook.port}{webhook.path}"

    def webhook_at(self, path: str) -> TenantWebhook | None:
        """Return the webhook of this tenant that a path names, or None if it names another.

        Its key may be an old one: the tenant is shown its own Service all the same.
        """
        found = WebhookPath.parse(path)
        return found.webhook if found and found.tenant == self.tenant else None

    def text_down(self, text: str) -> str:
        """Return a text of the API server, such as a failure to connect, about the webhook."""
        if self.service.host not in text:
            return text
        host = rf"{re.escape(self.service.host)}(?::[0-9]+)?"
        url = rf"{host}/{_PATHS}/[a-z0-9]+/[0-9a-f]+/([a-z0-9-]+)/([a-z0-9-]+)/([0-9]+)"
        text = re.sub(url, r"\2.\1.svc:\3", text)
        text = re.sub(
            rf"{_NO_ENDPOINTS} \"{re.escape(self.service.name)}\"( not found)?", _NO_ANSWER, text
        )
        # Kubernetes cuts long texts: a path that is cut is removed.
        return re.sub(rf"{host}(/{_PATHS}/[^\s\"]*)?", "webhook", text)
