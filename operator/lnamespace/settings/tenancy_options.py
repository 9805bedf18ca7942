"""The options of the controller and the webhook, and those of all commands."""

from dataclasses import dataclass

from lnamespace.settings.definition import option


@dataclass(frozen=True)
class TenancyOptions:
    """The options of the controller and the webhook; see each option's meaning."""

    api_group_suffix: str = option(
        "loblaw.digital", "The API group is `tenancy.` and this; another instance has another."
    )
    sudoers_group_format: str = option(
        "",
        "The group that sudoers impersonate, such as {name}-sudoers, which is meant if this is "
        "empty; for another API group suffix, {name}-sudoers.SUFFIX. No identity provider may "
        "hand out such groups.",
        "controller",
        "webhook",
    )
    limit_per_requester: int = option(
        20,
        "How many LNamespaces one requester may have, the ServiceAccounts of a namespace together; "
        "0: as many as they like.",
        "controller",
        "webhook",
    )
    limit_exceptions: str = option(
        "{}",
        'Other limits by user name, as JSON, such as {"ci-bot": 100}; 0: as many as they like. '
        "system:serviceaccounts:NAMESPACE stands for all ServiceAccounts there together.",
        "controller",
        "webhook",
    )
    lcluster_limit_per_requester: int = option(
        3,
        "How many LClusters one requester may have, counted as LNamespaces are; 0: no limit.",
        "controller",
        "webhook",
    )
    lcluster_limit_exceptions: str = option(
        "{}",
        "Other limits of LClusters by user name, in the form of those of LNamespaces.",
        "controller",
        "webhook",
    )
    lcluster_namespaces: int = option(
        200,
        "How many namespaces one LCluster may have, the four of every cluster among them; 0: as "
        "many as it likes. spec.limits of an LCluster goes before it.",
        "controller",
        "gateway",
    )
    lcluster_definitions: int = option(
        200,
        "How many CustomResourceDefinitions one LCluster may have; 0: as many as it likes. "
        "spec.limits of an LCluster goes before it.",
        "controller",
        "gateway",
    )
    lcluster_admission: int = option(
        200,
        "How many webhooks, admission policies, bindings of policies, and match conditions one "
        "LCluster may have together; 0: as many as it likes. spec.limits of an LCluster goes "
        "before it.",
        "controller",
        "gateway",
    )
    lcluster_cluster_role_bindings: int = option(
        1000,
        "How many ClusterRoleBindings one LCluster may have; one counts one more for each 16 "
        "subjects. 0: as many as it likes. spec.limits of an LCluster goes before it.",
        "controller",
        "gateway",
    )
    sudo_layout: str = option(
        "group",
        "group: sudoers impersonate themselves in a group. serviceaccount: they impersonate a "
        "ServiceAccount of the LNamespace (docs/sudo-layouts.md).",
        "controller",
    )
    log_format: str = option("text", "text or json.")
    log_level: str = option("info", "debug, info, warning or error.")
    kubeconfig: str = option("", "Path of a kubeconfig; empty: as kubectl, or the pod's own.")
    context: str = option("", "The context of the kubeconfig; empty: its current one.")

    users_role: str = option(
        "admin", "The ClusterRole that users have in their namespace.", "controller"
    )
    reserved_names: str = option(
        "",
        "Further names that no tenant may have: shell patterns, separated by commas.",
        "controller",
    )
    class_name: str = option(
        "",
        "The spec.className of the LNamespaces that this controller is for; empty: those with "
        "none.",
        "controller",
    )
    profiles_file: str = option(
        "",
        "YAML with the profiles, the guard rails (docs/profiles.md); read anew when it changes.",
        "controller",
    )
    guards_file: str = option(
        "",
        "JSON with the policies and webhook configurations as the chart makes them; one that is "
        "deleted or changed is told in a metric and in the log. Read anew when it changes.",
        "controller",
    )
    required_labels: str = option(
        "",
        "Keys of labels, by commas, that LNamespaces have and their Namespaces then have too.",
        "controller",
    )
    forbidden_labels: str = option(
        "",
        "Keys of labels that no Namespace of an LNamespace may have, or prefixes of such that end "
        "in /, separated by commas.",
        "controller",
    )
    lclusters: str = option(
        "no",
        "yes: reconcile LClusters, whose CustomResourceDefinition must be there; no: LNamespaces "
        "only.",
        "controller",
        "webhook",
    )
    gateway_url: str = option(
        "",
        "Where people reach the gateway: LCluster acme is at URL/clusters/acme; empty: nowhere.",
        "controller",
    )
    gateway_authorities: str = option(
        "",
        "The CAs of the gateway's certificate in PEM, for kubeconfigs; empty: trusted already.",
        "controller",
    )
    gateway_endpoints: str = option(
        "",
        "IP:PORT, by commas, at which pods reach the gateway: in each LCluster the Service "
        "`kubernetes` leads there; empty: it leads nowhere.",
        "controller",
    )
    lcluster_costs: str = option(
        "",
        "A folder with reports of what LClusters cost, for their people (docs/gateway.md).",
        "controller",
    )
    workers: int = option(16, "How many LNamespaces are worked on at a time.", "controller")
    concurrency: int = option(
        8, "How many writes are under way at a time, over all workers.", "controller"
    )
    resync_seconds: int = option(
        600, "How often everything is compared, without any request.", "controller"
    )
    lease: str = option(
        "",
        "NAMESPACE/NAME of the Lease by which one of several controllers leads; empty: no others.",
        "controller",
    )

    listen: str = option("0.0.0.0:8443", "Where to answer the API server, by HTTPS.", "webhook")
    health_listen: str = option(
        "",
        "Where to answer /livez, /readyz and /metrics, such as 0.0.0.0:8081; empty: nowhere.",
        "controller",
        "webhook",
        "gateway",
        "ledger",
    )
    certificate_directory: str = option(
        "",
        "A folder with tls.crt and tls.key that somebody else renews, such as cert-manager; "
        "empty: make and renew them in --certificate-secret.",
        "webhook",
    )
    certificate_secret: str = option(
        "lnamespace-system/lnamespace-webhook-certificate",
        "NAMESPACE/NAME of the Secret that the replicas share their certificate by.",
        "webhook",
    )
    serving_names: str = option(
        "lnamespace-webhook.lnamespace-system.svc",
        "The host names and addresses by which the API server calls, separated by commas.",
        "webhook",
    )
    certificate_hours: int = option(
        2160,
        "How long a certificate is good for; it is renewed after two thirds.",
        "webhook",
        "gateway",
    )
    certificate_settle_seconds: int = option(
        60, "How long a new CA is trusted everywhere before it is used.", "webhook"
    )
    drain_seconds: int = option(
        10, "How long to go on answering after being told to stop.", "webhook", "gateway"
    )
    default_lists: str = option(
        "users,managers,sudoers",
        "The lists that who creates an LNamespace is put into if it names nobody.",
        "webhook",
    )
    never_impersonate: str = option(
        "", "Users of whom no impersonator is ever made, separated by commas.", "webhook"
    )
    payers_file: str = option(
        "",
        "YAML that says who pays by default (docs/payers.md); read anew when it changes.",
        "webhook",
    )
