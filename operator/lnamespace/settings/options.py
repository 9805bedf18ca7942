"""Every option, once: its name, its default, its meaning, and the commands that have it."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from lnamespace.errors import SettingsError
from lnamespace.settings.checks import (
    REFERENCES,
    check_choice,
    check_class,
    check_group_format,
    check_limits,
    check_number,
    check_reference,
    check_suffix,
    items,
    parse_limits,
)


def _option(default: Any, meaning: str, *commands: str) -> Any:
    """Define an option of some commands, or of all if no command is named."""
    return field(default=default, metadata={"meaning": meaning, "commands": commands})


@dataclass(frozen=True)
class Settings:
    """The options of one instance; see each option's meaning."""

    api_group_suffix: str = _option(
        "loblaw.digital", "The API group is `tenancy.` and this; another instance has another."
    )
    sudoers_group_format: str = _option(
        "",
        "The group that sudoers impersonate, such as {name}-sudoers, which is meant if this is "
        "empty; for another API group suffix, {name}-sudoers.SUFFIX. No identity provider may "
        "hand out such groups.",
        "controller",
        "webhook",
    )
    limit_per_requester: int = _option(
        20,
        "How many LNamespaces one requester may have, the ServiceAccounts of a namespace together; "
        "0: as many as they like.",
        "controller",
        "webhook",
    )
    limit_exceptions: str = _option(
        "{}",
        'Other limits by user name, as JSON, such as {"ci-bot": 100}; 0: as many as they like. '
        "system:serviceaccounts:NAMESPACE stands for all ServiceAccounts there together.",
        "controller",
        "webhook",
    )
    lcluster_limit_per_requester: int = _option(
        3,
        "How many LClusters one requester may have, counted as LNamespaces are; 0: no limit.",
        "controller",
        "webhook",
    )
    lcluster_limit_exceptions: str = _option(
        "{}",
        "Other limits of LClusters by user name, in the form of those of LNamespaces.",
        "controller",
        "webhook",
    )
    lcluster_namespaces: int = _option(
        200,
        "How many namespaces one LCluster may have, the four of every cluster among them; 0: as "
        "many as it likes. spec.limits of an LCluster goes before it.",
        "controller",
        "gateway",
    )
    lcluster_definitions: int = _option(
        200,
        "How many CustomResourceDefinitions one LCluster may have; 0: as many as it likes. "
        "spec.limits of an LCluster goes before it.",
        "controller",
        "gateway",
    )
    sudo_layout: str = _option(
        "group",
        "group: sudoers impersonate themselves in a group. serviceaccount: they impersonate a "
        "ServiceAccount of the LNamespace (docs/sudo-layouts.md).",
        "controller",
    )
    log_format: str = _option("text", "text or json.")
    log_level: str = _option("info", "debug, info, warning or error.")
    kubeconfig: str = _option("", "Path of a kubeconfig; empty: as kubectl, or the pod's own.")
    context: str = _option("", "The context of the kubeconfig; empty: its current one.")

    users_role: str = _option(
        "admin", "The ClusterRole that users have in their namespace.", "controller"
    )
    reserved_names: str = _option(
        "",
        "Further names that no tenant may have: shell patterns, separated by commas.",
        "controller",
    )
    class_name: str = _option(
        "",
        "The spec.className of the LNamespaces that this controller is for; empty: those with "
        "none.",
        "controller",
    )
    profiles_file: str = _option(
        "",
        "YAML with the profiles, the guard rails (docs/profiles.md); read anew when it changes.",
        "controller",
    )
    guards_file: str = _option(
        "",
        "JSON with the policies and webhook configurations as the chart makes them; one that is "
        "deleted or changed is told in a metric and in the log. Read anew when it changes.",
        "controller",
    )
    required_labels: str = _option(
        "",
        "Keys of labels, by commas, that LNamespaces have and their Namespaces then have too.",
        "controller",
    )
    forbidden_labels: str = _option(
        "",
        "Keys of labels that no Namespace of an LNamespace may have, or prefixes of such that end "
        "in /, separated by commas.",
        "controller",
    )
    lclusters: str = _option(
        "no",
        "yes: reconcile LClusters, whose CustomResourceDefinition must be there; no: LNamespaces "
        "only.",
        "controller",
        "webhook",
    )
    gateway_url: str = _option(
        "",
        "Where people reach the gateway: LCluster acme is at URL/clusters/acme; empty: nowhere.",
        "controller",
    )
    gateway_authorities: str = _option(
        "",
        "The CAs of the gateway's certificate in PEM, for kubeconfigs; empty: trusted already.",
        "controller",
    )
    gateway_endpoints: str = _option(
        "",
        "IP:PORT, by commas, at which pods reach the gateway: in each LCluster the Service "
        "`kubernetes` leads there; empty: it leads nowhere.",
        "controller",
    )
    lcluster_costs: str = _option(
        "",
        "A folder with reports of what LClusters cost, for their people (docs/gateway.md).",
        "controller",
    )
    workers: int = _option(16, "How many LNamespaces are worked on at a time.", "controller")
    concurrency: int = _option(
        8, "How many writes are under way at a time, over all workers.", "controller"
    )
    resync_seconds: int = _option(
        600, "How often everything is compared, without any request.", "controller"
    )
    lease: str = _option(
        "",
        "NAMESPACE/NAME of the Lease by which one of several controllers leads; empty: no others.",
        "controller",
    )

    listen: str = _option("0.0.0.0:8443", "Where to answer the API server, by HTTPS.", "webhook")
    health_listen: str = _option(
        "",
        "Where to answer /livez, /readyz and /metrics, such as 0.0.0.0:8081; empty: nowhere.",
        "controller",
        "webhook",
        "gateway",
        "ledger",
    )
    certificate_directory: str = _option(
        "",
        "A folder with tls.crt and tls.key that somebody else renews, such as cert-manager; "
        "empty: make and renew them in --certificate-secret.",
        "webhook",
    )
    certificate_secret: str = _option(
        "lnamespace-system/lnamespace-webhook-certificate",
        "NAMESPACE/NAME of the Secret that the replicas share their certificate by.",
        "webhook",
    )
    serving_names: str = _option(
        "lnamespace-webhook.lnamespace-system.svc",
        "The host names and addresses by which the API server calls, separated by commas.",
        "webhook",
    )
    certificate_hours: int = _option(
        2160,
        "How long a certificate is good for; it is renewed after two thirds.",
        "webhook",
        "gateway",
    )
    certificate_settle_seconds: int = _option(
        60, "How long a new CA is trusted everywhere before it is used.", "webhook"
    )
    drain_seconds: int = _option(
        10, "How long to go on answering after being told to stop.", "webhook", "gateway"
    )
    default_lists: str = _option(
        "users,managers,sudoers",
        "The lists that who creates an LNamespace is put into if it names nobody.",
        "webhook",
    )
    never_impersonate: str = _option(
        "", "Users of whom no impersonator is ever made, separated by commas.", "webhook"
    )
    payers_file: str = _option(
        "",
        "YAML that says who pays by default (docs/payers.md); read anew when it changes.",
        "webhook",
    )

    gateway_listen: str = _option(
        "0.0.0.0:6443", "Where tenants reach their clusters, by HTTPS.", "gateway"
    )
    gateway_host: str = _option(
        "",
        "The gateway's own host name: tenant acme is at acme.HOST, and at HOST/clusters/acme.",
        "gateway",
    )
    gateway_allow: str = _option(
        "{}",
        "What of the platform the objects of LClusters may use, as JSON, such as "
        '{"csiDrivers": ["d.example.com"]}; the keys are those of gateway.allow in the chart.',
        "gateway",
    )
    gateway_published: str = _option(
        "{}",
        "What of the platform every LCluster sees (docs/gateway.md), as JSON; the keys are those "
        "of gateway.published in the chart.",
        "gateway",
        "gateway check",
    )
    gateway_certificate_directory: str = _option(
        "/etc/lnamespace/gateway",
        "A folder with tls.crt and tls.key for --gateway-host and all names below it; empty: make "
        "and renew them by the CA of --gateway-signer-secret.",
        "gateway",
    )
    gateway_ca_config_map: str = _option(
        "",
        "NAMESPACE/NAME of the ConfigMap by which a gateway that makes its own certificate tells "
        "clients its CA.",
        "controller",
        "gateway",
    )
    gateway_service: str = _option(
        "", "NAMESPACE/NAME of the gateway's Service, for the certificate it makes.", "gateway"
    )
    gateway_client_ca_file: str = _option(
        "",
        "The CAs of the client certificates of the platform's people, as the API server's "
        "--client-ca-file; empty: as the API server says in its ConfigMap.",
        "gateway",
    )
    gateway_mine: str = _option(
        "no",
        "yes: at HOST/mine people see the platform's cluster with their own LNamespaces instead of "
        "all namespaces; no: that path is not served.",
        "gateway",
    )
    gateway_workers: int = _option(1, "How many processes answer at the same ports.", "gateway")
    gateway_requests_in_flight: int = _option(
        200,
        "How many requests one LCluster may have under way at each worker, and as many streams "
        "such as kubectl exec; more are answered 429.",
        "gateway",
    )
    gateway_audit_log: str = _option(
        "",
        "A file to which each request is appended as a line of JSON, in the format of the API "
        "server's audit log (docs/gateway.md); - is standard output; empty: nowhere.",
        "gateway",
    )
    gateway_signer_secret: str = _option(
        "",
        "NAMESPACE/NAME of the Secret with the CA of the client certificates that LClusters issue "
        "for themselves; the first replica makes it. Empty: they issue none.",
        "gateway",
    )
    gateway_webhook_service: str = _option(
        "",
        "NAMESPACE/NAME:PORT of the Service at which the API server reaches "
        "--gateway-webhook-listen, to ask the webhooks of tenants; needs --gateway-signer-secret. "
        "Empty: they have none.",
        "gateway",
    )
    gateway_webhook_listen: str = _option(
        "0.0.0.0:9443", "Where the API server asks the webhooks of tenants, by HTTPS.", "gateway"
    )
    gateway_pod_service: str = _option(
        "",
        "NAMESPACE/NAME of the Service at which programs in pods of LClusters reach "
        "--gateway-pod-listen; the ConfigMap of that name gets the CA of the certificate there, "
        "which is that of --gateway-signer-secret. Empty: they do not reach the gateway so.",
        "gateway",
    )
    gateway_pod_listen: str = _option(
        "0.0.0.0:7443", "Where programs in pods of LClusters ask, by HTTPS.", "gateway"
    )
    gateway_volume_marks: str = _option(
        "no",
        "Whether a policy of the chart marks the volumes that provisioners make for claims of "
        "LClusters: yes or no. With no, each list of PersistentVolumes in an LCluster reads those "
        "of the whole cluster.",
        "gateway",
    )

    ledger_url: str = _option(
        "sqlite:////var/lib/lnamespace/ledger.db",
        "SQLAlchemy URL of the ledger's database: sqlite, postgresql+psycopg, duckdb, bigquery.",
        "ledger",
    )
    ledger_table: str = _option(
        "lnamespace_billing_events",
        "The table's name; SCHEMA.NAME or PROJECT.DATASET.NAME too.",
        "ledger",
    )
    ledger_manage: str = _option(
        "CreateAndExtend",
        "CreateAndExtend the table as needed, or Never touch its columns.",
        "ledger",
    )
    project_id: str = _option("", "The cloud project of this cluster, as in its bill.", "ledger")
    cluster_location: str = _option("", "The region or zone of this cluster.", "ledger")
    cluster_name: str = _option("", "The name of this cluster.", "ledger")
    flush_seconds: int = _option(60, "How long records are gathered before a write.", "ledger")
    batch_size: int = _option(100, "How many records are written at a time.", "ledger")
    compare_hours: int = _option(
        24, "How often the ledger is compared with the cluster, besides at start.", "ledger"
    )

    def __post_init__(self) -> None:
        check_suffix(self.api_group_suffix)
        check_group_format(self.sudoers_group_format)
        check_class(self.class_name)
        if not self.users_role:
            raise SettingsError("--users-role must name a ClusterRole")
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            check_choice(option.name, value)
            if isinstance(option.default, int):
                check_number(option.name, value, option.default)
        for name in ("limit_exceptions", "lcluster_limit_exceptions"):
            check_limits(name, getattr(self, name))
        for name in REFERENCES:
            check_reference(name, getattr(self, name))
        if not set(items(self.default_lists)) <= {"users", "managers", "sudoers"}:
            raise SettingsError("--default-lists must name some of users, managers, sudoers")

    @property
    def limits_by_name(self) -> dict[str, int]:
        """Return the exceptions to the limit of LNamespaces by user name."""
        return parse_limits("limit_exceptions", self.limit_exceptions)

    @property
    def lcluster_limits_by_name(self) -> dict[str, int]:
        """Return the exceptions to the limit of LClusters by user name."""
        return parse_limits("lcluster_limit_exceptions", self.lcluster_limit_exceptions)

    @property
    def reserved(self) -> tuple[str, ...]:
        """Return the patterns of further reserved names."""
        return items(self.reserved_names)
