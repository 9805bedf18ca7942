"""How the API server reaches the webhooks of LCluster ``acme`` in tests."""

from lnamespace.translate.names.webhook_routes import GatewayService, WebhookRoute

ROUTE = WebhookRoute(
    GatewayService("lnamespace-system", "lnamespace-gateway-webhooks", 443),
    "acme",
    "-----BEGIN CERTIFICATE-----\nZ2F0ZXdheQ==\n-----END CERTIFICATE-----\n",
    "5ec2e7",
)
