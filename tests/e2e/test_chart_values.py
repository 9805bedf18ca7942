"""Values that cannot work are refused before anything is made, in words that name them.

A schema alone let many through, to be refused half-way by the API server or to make pods that
never start; and of what it refused it said a regular expression, or only that `not` failed.
"""

import json
import re
from collections.abc import Iterable

import pytest

from tests.e2e.support.cluster import Cluster
from tests.e2e.support.instances import CHART

Case = tuple[str, str, str]

WRONG: list[Case] = [
    # Which instance it is
    ("apiGroupSuffix=Loblaw", "apiGroupSuffix", "DNS name in lower case"),
    ("apiGroupSuffix=loblaw..digital", "apiGroupSuffix", "DNS name in lower case"),
    ("apiGroupSuffix=-x.example.com", "apiGroupSuffix", "DNS name in lower case"),
    ("apiGroupSuffix=k8s.io", "apiGroupSuffix", "k8s.io and kubernetes.io for Kubernetes itself"),
    ("apiGroupSuffix=x.k8s.io", "apiGroupSuffix", "must be a domain of yours"),
    ("apiGroupSuffix=kubernetes.io", "apiGroupSuffix", "must be a domain of yours"),
    ("usersRole=no role", "usersRole", "the name of a ClusterRole"),
    ("sudoersGroupFormat=system:{name}", "sudoersGroupFormat", "begins with system:"),
    ("sudoersGroupFormat=sys{name}tem:x", "sudoersGroupFormat", "begins with system:"),
    ("sudoersGroupFormat=all-sudoers", "sudoersGroupFormat", "with {name} in it"),
    ("sudoersGroupFormat=a{name}'", "sudoersGroupFormat", "with {name} in it"),
    ("sudoLayout=account", "sudoLayout", "'group', 'serviceaccount'"),
    ("reservedNames={Vault}", "reservedNames[0]", "a name of a namespace"),
    ("limitExceptions.alice=-1", "limitExceptions/alice", "minimum"),
    ("gateway.limitExceptions.alice=-1", "gateway/limitExceptions/alice", "minimum"),
    ("authenticated.groups={a'b}", "authenticated.groups[0]", "without quotes"),
    ("authenticated.groups={system:unauthenticated}", "authenticated.groups", "without logging in"),
    ('policies.neverImpersonate={a"b}', "policies.neverImpersonate[0]", "without quotes"),
    ("policies.foreignLabels={a b}", "policies.foreignLabels[0]", "the key of a label"),
    ("policies.protectedNamespaceLabels={a'}", "protectedNamespaceLabels[0]", "the key of a label"),
    # Names
    ("webhook.name=lnamespace-controller", "webhook.name", "taken by serviceAccount.name"),
    ("ledger.name=lnamespace-controller", "ledger.name", "taken by serviceAccount.name"),
    ("ledger.name=lnamespace-webhook", "ledger.name", "taken by webhook.name"),
    ("webhook.name=lnamespace-controller-metrics", "webhook.name", "the Service for metrics"),
    (
        "webhook.name=lnamespace-controller-gold,controller.classNames={gold}",
        "webhook.name",
        "the controller of class gold",
    ),
    ("serviceAccount.name=default", "serviceAccount.name", "every pod of the namespace"),
    ("webhook.name=default", "webhook.name", "every pod of the namespace"),
    ("serviceAccount.name=1st", "serviceAccount.name", "a letter first"),
    (f"serviceAccount.name={'a' * 52}", "serviceAccount.name", "at most 51"),
    ("webhook.name=Door", "webhook.name", "lower case"),
    ("controller.classNames={Gold}", "controller.classNames[0]", "lower case"),
    (f"controller.classNames={{{'a' * 41}}}", "controller.classNames[0]", "at most 40"),
    # Images
    ("image.repository=YOUR_REGISTRY/lnamespace", "image.repository", "is a placeholder"),
    ("image.repository=<registry>/lnamespace", "image.repository", "is a placeholder"),
    ("image.repository=your-registry.io/lnamespace", "image.repository", "is a placeholder"),
    ("image.repository=$REGISTRY/lnamespace", "image.repository", "is a placeholder"),
    ("image.repository=.../lnamespace", "image.repository", "is a placeholder"),
    ("image.repository=ghcr.io/Loblaw/lnamespace", "image.repository", "in lower case"),
    ("image.repository=registry:5000/lnamespace:0.1.0", "image.repository", "without tag"),
    ("image.repository=https://ghcr.io/lnamespace", "image.repository", "in lower case"),
    ("image.repository=ghcr.io//lnamespace", "image.repository", "in lower case"),
    ("image.repository=", "image/repository", "minLength"),
    ("image.tag=a:b", "image.tag", "a tag"),
    ("image.tag=1", "image/tag", "got number, want string"),
    ("image.digest=sha256:abc", "image.digest", "64 hexadecimal digits"),
    ("image.pullSecrets={registry}", "image/pullSecrets/0", "got string, want object"),
    ("image.pullSecrets[0].nam=registry", "image/pullSecrets/0", "nam"),
    # Pods
    ("controller.replicas=0", "controller/replicas", "minimum"),
    ("controller.podAnnotations.a=1", "controller/podAnnotations/a", "got number, want string"),
    ("webhook.podAnnotations.a=true", "webhook/podAnnotations/a", "got boolean, want string"),
    ("ledger.podAnnotations.a/b/c=x", "ledger.podAnnotations", "the key of an annotation"),
    ("controller.nodeSelector.disks=2", "controller/nodeSelector/disks", "want string"),
    ("controller.nodeSelector.disk=a/b", "controller.nodeSelector.disk", "a label's value"),
    ("webhook.tolerations={all}", "webhook/tolerations/0", "want object"),
    ("controller.priorityClassName=Very High", "controller.priorityClassName", "PriorityClass"),
    ("ledger.resources.limits.memory=lots", "ledger.resources.limits.memory", "a quantity"),
    ("controller.resources.requests.cpu=50 m", "controller.resources.requests.cpu", "a quantity"),
    ("controller.resources.limit.cpu=1", "controller/resources", "'limit' not allowed"),
    ("controller.podLabels.a=b c", "controller.podLabels.a", "a label's value"),
    (r"ledger.podLabels.app\.kubernetes\.io/name=x", "ledger.podLabels", "goes by this one"),
    (r"commonLabels.helm\.sh/chart=x", "commonLabels", "goes by this one"),
    (r"commonLabels.tenancy\.loblaw\.digital/guarded=controller", "commonLabels", "goes by this"),
    (
        r"commonLabels.rbac\.authorization\.k8s\.io/aggregate-to-view=yes",
        "commonLabels",
        "goes by this one",
    ),
    ("commonLabels.a=b,ledger.podLabels.a=c", "ledger.podLabels", "in commonLabels"),
    ("webhook.extraEnv[0].value=x", "webhook/extraEnv/0", "missing property 'name'"),
    ("webhook.extraEnv[0].name=LNAMESPACE_LISTEN", "webhook.extraEnv[0]", "another variable"),
    ("controller.extraVolumes[0].name=guards", "controller.extraVolumes[0]", "another name"),
    ("ledger.extraContainers[0].name=ledger", "ledger.extraContainers[0]", "another name"),
    ("ledger.extraVolumeMounts[0].name=a", "ledger/extraVolumeMounts/0", "'mountPath'"),
    ("revisionHistoryLimit=-1", "revisionHistoryLimit", "minimum"),
    ("hooks=no", "hooks", "want boolean"),
    ("serviceAccount.annotations.a=1", "serviceAccount/annotations/a", "want string"),
    ("controler.replicas=1", "controler", "not allowed"),
    # The webhook
    ("webhook.url=http://x", "webhook.url", "https://HOST"),
    ("webhook.url=https://x:door", "webhook.url", "https://HOST:PORT"),
    ("webhook.url=https://u:p@x", "webhook.url", "without user"),
    ("webhook.url=https://x?y=1", "webhook.url", "query"),
    ("webhook.certificateHours=1000000", "webhook/certificateHours", "maximum"),
    ("webhook.certManager.issuerRef.kind=ClusterIssuer", "certManager.issuerRef", "have a name"),
    ("webhook.networkPolicy.enabled=true", "webhook.networkPolicy.from", "nobody could reach"),
    (
        "webhook.networkPolicy.enabled=true,webhook.hostNetwork=true",
        "webhook.networkPolicy.enabled",
        "would not hold",
    ),
    ("webhook.port=8081", "webhook.healthPort", "another port"),
    ("webhook.port=443", "webhook/port", "minimum"),
    ("webhook.defaultLists={owners}", "webhook/defaultLists/0", "'users', 'managers', 'sudoers'"),
    # The ledger
    ("ledger.url=mysql://db/x", "ledger.url", "postgresql+psycopg://HOST"),
    ("ledger.url=postgresql+asyncpg://db/x", "ledger.url", "postgresql+psycopg://HOST"),
    ("ledger.url=nonsense", "ledger.url", "postgresql+psycopg://HOST"),
    ("ledger.url=sqlite:///ledger.db", "ledger.url", "a file in the ledger's volume"),
    ("ledger.url=duckdb:////data/ledger.db", "ledger.url", "a file in the ledger's volume"),
    ("ledger.url=sqlite://", "ledger.url", "a file in the ledger's volume"),
    ("ledger.url=postgresql+psycopg://db/x", "ledger.clusterName is needed", "told apart"),
    ("ledger.table=a.b.c.d", "ledger.table", "PROJECT.DATASET.NAME"),
    ("ledger.table=a..b", "ledger.table", "PROJECT.DATASET.NAME"),
    ("ledger.urlSecret.name=My Secret", "ledger.urlSecret.name", "the name of a Secret"),
    ("ledger.urlSecret.key=a/b", "ledger.urlSecret.key", "a key of a Secret"),
    ("ledger.persistence.size=lots", "ledger.persistence.size", "a quantity"),
    ("ledger.persistence.size=0", "ledger/persistence/size", "want string"),
    ("ledger.persistence.size=1GB", "ledger.persistence.size", "a quantity"),
    ("ledger.persistence.storageClassName=-", "storageClassName", "default one"),
    ("ledger.persistence.storageClassName=Fast", "storageClassName", "StorageClass"),
    # Who pays
    ("payers.default.team=x", "payers.default", "somebody must pay"),
    ("payers.entries[0].user=a", "payers.entries[0]", "somebody must pay"),
    (
        "payers.entries[0].user=a,payers.entries[0].group=b,payers.entries[0].billing.costCenter=c",
        "payers.entries[0]",
        "one of user, group and groupPattern",
    ),
    ("payers.entries[0].billing.costCenter=c", "payers.entries[0]", "one of user, group"),
    # Guard rails and labels
    ("profiles.Big.labels.a=b", "profiles", "lower case"),
    ("profiles.editor.labels.a=b", "profiles", "named otherwise"),
    ("profiles.sudoer-impersonator.labels.a=b", "profiles", "named otherwise"),
    ("profiles.big.labels.a=b c", "profiles.big.labels.a", "a label's value"),
    ("profiles.big.labels.a/b/c=d", "profiles.big.labels", "the key of a label"),
    (
        r"profiles.big.labels.kubernetes\.io/metadata\.name=x",
        "profiles.big.labels",
        "another label",
    ),
    ("requiredLabels.team=[", "requiredLabels.team", "a regular expression"),
    ("requiredLabels.a b=x", "requiredLabels", "the key of a label"),
    (r"requiredLabels.app\.kubernetes\.io/managed-by=x", "requiredLabels", "another label"),
    ("forbiddenLabels={a b}", "forbiddenLabels[0]", "the key of a label"),
    ("forbiddenLabels={kubernetes.io/metadata.name}", "forbiddenLabels", "another label"),
    (r"requiredLabels.a\.io/b=x,forbiddenLabels={a.io/}", "requiredLabels", "no LNamespace could"),
    # Monitoring
    ("monitoring.prometheusRule.runbook=docs/runbook.html", "runbook", "the address of a page"),
    ("monitoring.serviceMonitor.interval=often", "serviceMonitor.interval", "such as 30s"),
    ("monitoring.serviceMonitor.interval=0s", "serviceMonitor.interval", "such as 30s"),
    ("monitoring.serviceMonitor.scrapeTimeout=soon", "scrapeTimeout", "such as 10s"),
    ("monitoring.prometheusRule.alertLabels.a=b c", "alertLabels.a", "a label's value"),
    ("commonLabels.a=b,monitoring.dashboard.labels.a=c", "dashboard.labels", "in commonLabels"),
    ("monitoring.dashboard.labels.a=b c", "monitoring.dashboard.labels.a", "a label's value"),
    ("monitoring.dashboard.labels.a=1", "monitoring/dashboard/labels/a", "want string"),
    # Taken away
    ("reservedNames=null", "missing property 'reservedNames'", ""),
    ("policies.confineController=null", "missing property 'confineController'", ""),
]
"""Settings, and what must stand in the answer to each."""

RIGHT = [
    "apiGroupSuffix=team1.example.com",
    "apiGroupSuffix=notk8s.io",
    "image.repository=localhost:5000/a/b_c/d--e",
    "image.repository=yourregion.example.com/lnamespace",
    "sudoersGroupFormat=k8s:{name}:sudo",
    "ledger.url=postgresql+psycopg://u:p@db/x,ledger.clusterName=c",
    "ledger.url=bigquery://fin-ops/billing?location=x,ledger.clusterName=c",
    "ledger.url=duckdb:////var/lib/lnamespace/books.duckdb",
    "ledger.url=mysql://db/x,ledger.enabled=false",
    "ledger.persistence.storageClassName=premium-rwo",
    "ledger.persistence.size=1.5Ti",
    "controller.resources.limits.memory=536870912",
    "controller.resources.limits.cpu=0.5",
    "controller.resources=null",
    "commonLabels.team=platform,controller.podLabels.tier=a",
    "ledger.extraEnv[0].name=HTTPS_PROXY,ledger.extraEnv[0].value=http://proxy:3128",
    "podSecurityContext.runAsUser=null,podSecurityContext.fsGroup=null",
    "podSecurityContext=null,containerSecurityContext=null,commonLabels=null",
    "webhook.hostNetwork=true,webhook.port=9443,webhook.healthPort=9081",
    "hooks=false",
    "webhook.url=https://[fd00::1]:8443/hook/",
    "requiredLabels.class=public|internal",
    "image.tag=null",
    "monitoring.prometheusRule.runbook=docs/runbook.md",  # the first chart's default
    "payers.default.costCenter=x,payers.entries[0].groupPattern=cc-(?P<cost_center>.*)",
]


class Complaints:
    """What helm says of each wrong setting.

    All that is wrong is told at once, so many settings share a run of helm, which takes half a
    second: first each with others that are about other values, and at last, alone, those of which
    that run has told nothing. (What the schema refuses hides what the templates would refuse.)
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._told: dict[str, str] = {}
        for _ in range(2):
            for group in _apart(case for case in WRONG if case[0] not in self._told):
                self._ask(group)

    def about(self, setting: str, name: str, words: str) -> str:
        """Return the line about a setting, or all that is said where it is set alone."""
        if setting not in self._told:
            code, self._told[setting] = answer(self._cluster, "--set", setting)
            assert code == 1, f"it was taken, and {name} should be {words}"
        return self._told[setting]

    def _ask(self, group: list[Case]) -> None:
        flags = [word for setting, *_ in group for word in ("--set", setting)]
        code, told = answer(self._cluster, *flags)
        assert code == 1
        for setting, name, words in group:
            lines = (line for line in told.splitlines() if name in line and words in line)
            if line := next(lines, ""):
                self._told[setting] = line


def _apart(cases: Iterable[Case]) -> list[list[Case]]:
    """Return groups of cases about different values, of which helm says different names."""
    groups: list[list[Case]] = []
    for case in cases:
        for group in groups:
            if not any(_touch(case, other) for other in group):
                group.append(case)
                break
        else:
            groups.append([case])
    return groups


def _touch(one: Case, other: Case) -> bool:
    """Return whether a line about one could be taken for a line about the other."""
    return bool(_places(one) & _places(other))


def _places(case: Case) -> set[str]:
    """Return the values that a case sets or names, without what is below the second level."""
    setting, name, _ = case
    paths = [part.partition("=")[0] for part in setting.split(",") if "=" in part]
    return {_place(path) for path in (*paths, name)} | {path.split(".")[-1] for path in paths}


def _place(path: str) -> str:
    return ".".join(re.split(r"[./\\[]", path)[:2])


def answer(cluster: Cluster, *flags: str) -> tuple[int, str]:
    """Return whether helm takes these values, and what it says if it does not."""
    words = ("helm", "template", "lnamespace", str(CHART), "--kube-version=1.36.3", *flags)
    done = cluster.run(*words)
    return done.code, done.err


@pytest.fixture(scope="module")
def complaints(cluster: Cluster) -> Complaints:
    return Complaints(cluster)


@pytest.mark.parametrize(("setting", "name", "words"), WRONG, ids=[case[0] for case in WRONG])
def test_an_invalid_value_is_refused_with_a_readable_message(
    setting: str, name: str, words: str, complaints: Complaints
) -> None:
    told = complaints.about(setting, name, words)
    assert name in told
    assert words in told
    assert "'not' failed" not in told


def _beside(settings: Iterable[str]) -> list[str]:
    """Return the settings in as few as can be set at once: each about another part of the chart."""
    groups: list[dict[str, str]] = []
    for setting in settings:
        part = re.split(r"[.=]", setting)[0]
        group = next((each for each in groups if part not in each), None)
        if group is None:
            groups.append(group := {})
        group[part] = setting
    return [",".join(group.values()) for group in groups]


@pytest.mark.parametrize("settings", _beside(RIGHT))
def test_a_valid_value_is_accepted(settings: str, cluster: Cluster) -> None:
    assert answer(cluster, "--set", settings) == (0, "")


def test_all_invalid_values_are_reported_at_once(cluster: Cluster) -> None:
    _, told = answer(cluster, "--set", "webhook.url=x,image.tag=a:b,usersRole=a b")
    assert told.count("\n- ") == 3


def test_a_password_in_a_refused_url_is_not_repeated(cluster: Cluster) -> None:
    _, told = answer(cluster, "--set", "ledger.url=mysql://root:hunter2@db/x")
    assert "hunter2" not in told
    assert "mysql://...@db/x" in told


def test_a_value_of_the_wrong_type_is_refused(cluster: Cluster) -> None:
    """Not only what can be typed after --set."""
    for wrong in ({"image": {"repository": ["a"]}}, {"profiles": {"x": {"labels": {"a": None}}}}):
        flags = [f"--set-json={key}={json.dumps(value)}" for key, value in wrong.items()]
        assert answer(cluster, *flags)[0] == 1


def notes(cluster: Cluster, *flags: str) -> str:
    """Return what helm says after an installation of another instance."""
    words = ("helm", "install", "other", str(CHART), "-n", "ours", "--dry-run=client")
    instance = "--set=apiGroupSuffix=other.example.com"
    return cluster.run(*words, instance, *flags).ok().partition("NOTES:")[2]


def test_the_notes_name_the_commands_that_remove_objects_outside_the_chart(
    cluster: Cluster,
) -> None:
    """The namespace, the certificate and the Leases stayed, and nobody said so."""
    told = notes(cluster, "--set=controller.classNames={gold}")
    names = "secret/lnamespace-webhook-certificate lease/lnamespace-controller"
    assert (
        f"kubectl -n ours delete --ignore-not-found {names} lease/lnamespace-controller-gold\n"
        in told
    )
    assert "kubectl delete namespace ours" in told


def test_the_notes_name_the_gateway_where_it_runs_or_has_to_be_run(cluster: Cluster) -> None:
    """They named all other processes."""
    run = "service-account-kubeconfig.sh ours lnamespace-gateway) lnamespace gateway\n"
    rollout = "rollout status deployment/lnamespace-gateway\n"
    there = ("--set=gateway.enabled=true", "--set=gateway.host=lclusters.example.com")
    for flags, parts in (
        ((), set()),
        (there, {rollout}),
        ((*there, "--set=gateway.deploy=false"), {run}),
    ):
        told = notes(cluster, *flags)
        assert {part for part in (run, rollout) if part in told} == parts, told


@pytest.mark.parametrize(
    ("url", "host"), [("https://127.0.0.1:8443", "127.0.0.1"), ("", "lnamespace-webhook.ours.svc")]
)
def test_the_notes_name_the_commands_of_what_is_not_deployed(
    url: str, host: str, cluster: Cluster
) -> None:
    """The webhook wrote into another instance's Secret, and was refused."""
    told = notes(cluster, f"--set=controller.deploy=false,webhook.deploy=false,webhook.url={url}")
    joined = " ".join(told.replace("\\\n", "").split())
    own = "--api-group-suffix other.example.com"
    shared = "--certificate-secret ours/lnamespace-webhook-certificate"
    assert f"lnamespace webhook {own} {shared} --serving-names {host} " in joined
    assert f"lnamespace controller {own} --lease ours/lnamespace-controller " in joined


def test_the_notes_warn_that_an_image_without_a_registry_must_be_on_the_nodes(
    cluster: Cluster,
) -> None:
    assert "the nodes must have it already" in notes(cluster)
    there = notes(cluster, "--set=image.repository=registry.internal/lnamespace")
    assert "the nodes must have it already" not in there


def test_placeholder_image_repositories_of_the_readme_are_refused(cluster: Cluster) -> None:
    """A line with a placeholder in it, copied as it was, installed "successfully"."""
    text = (CHART.parents[1] / "README.md").read_text()
    for repository in re.findall(r"(?:image.repository=|REPOSITORY=)([^\s\\]+)", text):
        code, told = answer(cluster, f"--set=image.repository={repository}")
        assert code == 1
        assert "placeholder" in told
