"""The options of the gateway alone, and where the controller finds it."""

from dataclasses import dataclass

from lnamespace.settings.definition import option


@dataclass(frozen=True)
class GatewayOptions:
    """The options of the gateway; see each option's meaning."""

    gateway_listen: str = option(
        "0.0.0.0:6443", "Where tenants reach their clusters, by HTTPS.", "gateway"
    )
    gateway_host: str = option(
        "",
        "The gateway's own host name: tenant acme is at acme.HOST, and at HOST/clusters/acme.",
        "gateway",
    )
    gateway_allow: str = option(
        "{}",
        "What of the platform the objects of LClusters may use, as JSON, such as "
        '{"csiDrivers": ["d.example.com"]}; the keys are those of gateway.allow in the chart.',
        "gateway",
    )
    gateway_published: str = option(
        "{}",
        "What of the platform every LCluster sees (docs/gateway.md), as JSON; the keys are those "
        "of gateway.published in the chart.",
        "gateway",
        "gateway check",
    )
    gateway_certificate_directory: str = option(
        "/etc/lnamespace/gateway",
        "A folder with tls.crt and tls.key for --gateway-host and all names below it; empty: make "
        "and renew them by the CA of --gateway-signer-secret.",
        "gateway",
    )
    gateway_ca_config_map: str = option(
        "",
        "NAMESPACE/NAME of the ConfigMap by which a gateway that makes its own certificate tells "
        "clients its CA.",
        "controller",
        "gateway",
    )
    gateway_service: str = option(
        "", "NAMESPACE/NAME of the gateway's Service, for the certificate it makes.", "gateway"
    )
    gateway_mine: str = option(
        "no",
        "yes: at HOST/mine people see the platform's cluster with their own LNamespaces instead of "
        "all namespaces; no: that path is not served.",
        "gateway",
    )
    gateway_workers: int = option(1, "How many processes answer at the same ports.", "gateway")
    gateway_requests_in_flight: int = option(
        200,
        "How many requests one LCluster may have under way at each worker, and as many streams "
        "such as kubectl exec; more are answered 429.",
        "gateway",
    )
    gateway_audit_log: str = option(
        "",
        "A file to which each request is appended as a line of JSON, in the format of the API "
        "server's audit log (docs/gateway.md); - is standard output; empty: nowhere.",
        "gateway",
    )
    gateway_signer_secret: str = option(
        "",
        "NAMESPACE/NAME of the Secret with the CA of the client certificates that LClusters issue "
        "for themselves; the first replica makes it. Empty: they issue none.",
        "gateway",
    )
    gateway_webhook_service: str = option(
        "",
        "NAMESPACE/NAME:PORT of the Service at which the API server reaches "
        "--gateway-webhook-listen, to ask the webhooks of tenants; needs --gateway-signer-secret. "
        "Empty: they have none.",
        "gateway",
    )
    gateway_webhook_listen: str = option(
        "0.0.0.0:9443", "Where the API server asks the webhooks of tenants, by HTTPS.", "gateway"
    )
    gateway_pod_service: str = option(
        "",
        "NAMESPACE/NAME of the Service at which programs in pods of LClusters reach "
        "--gateway-pod-listen; the ConfigMap of that name gets the CA of the certificate there, "
        "which is that of --gateway-signer-secret. Empty: they do not reach the gateway so.",
        "gateway",
    )
    gateway_pod_listen: str = option(
        "0.0.0.0:7443", "Where programs in pods of LClusters ask, by HTTPS.", "gateway"
    )
    gateway_volume_marks: str = option(
        "no",
        "Whether a policy of the chart marks the volumes that provisioners make for claims of "
        "LClusters: yes or no. With no, each list of PersistentVolumes in an LCluster reads those "
        "of the whole cluster.",
        "gateway",
    )
