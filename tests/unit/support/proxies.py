"""How the API server reaches the webhooks of LCluster ``acme`` in tests."""

from lnamespace.translate.webhook_proxy import ProxyService, WebhookProxy

PROXY = WebhookProxy(
    ProxyService("lnamespace-system", "lnamespace-gateway-webhooks", 443),
    "acme",
    "-----BEGIN CERTIFICATE-----\nZ2F0ZXdheQ==\n-----END CERTIFICATE-----\n",
    "5ec2e7",
)
