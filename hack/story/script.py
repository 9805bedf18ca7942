"""The story: who does what, and what is told to happen."""

from collections.abc import Iterator
from dataclasses import dataclass

from .stage import ADMIN

ALICE, BOB, CAROL = "alice", "bob.smith@loblaw.ca", "carol"
PEOPLE: dict[str, tuple[str, ...]] = {
    ALICE: ("cc-4711",),
    BOB: ("cc-4711", "cc-5080"),
    CAROL: (),
}
"""Everybody, and the groups that their login gives them."""

OURS = "tenancy.loblaw.digital/lnamespace=team-a"
REFUSED = "forbidden"


@dataclass(frozen=True)
class Step:
    """One command of one person: ``expected`` in words; what its output must say (in any case).

    ``within``: it is tried again for so many seconds, for what takes a moment to come about.
    """

    expected: str
    who: str
    command: str
    says: str
    refused: bool = False
    within: float = 0.0


@dataclass(frozen=True)
class Chapter:
    """A group of steps that belong together."""

    title: str
    steps: tuple[Step, ...]


def story() -> Iterator[Chapter]:
    """Yield all chapters in order: every step needs those before it."""
    yield Chapter("Alice needs a namespace", (*_create(), *_work()))
    yield Chapter("A step that needs more: sudo", tuple(_sudo()))
    yield Chapter("Bob joins, Carol does not", (*_share(), *_keep_out()))
    yield Chapter("Bob leaves", tuple(_revoke()))
    yield Chapter("Somebody slips", tuple(_drift()))
    yield Chapter("Who pays", tuple(_pay()))
    yield Chapter("The end of team-a", tuple(_delete()))
    yield Chapter("The bill", tuple(_bill()))
    yield Chapter("A cluster of one's own", (*_clusters(), *_same_names(), *_apart()))


def _create() -> Iterator[Step]:
    yield Step(
        "Alice, whom nobody gave any rights, makes a namespace. The command returns when she can "
        "work in it.",
        ALICE,
        "kubectl create lns team-a",
        says="team-a",
    )
    yield Step(
        "It is hers, and the cluster says so: who asked for it, and who pays, by her group.",
        ALICE,
        "kubectl get lns",
        says="4711",
    )


def _work() -> Iterator[Step]:
    yield Step(
        "She works in it like in any namespace.",
        ALICE,
        "kubectl -n team-a create configmap motd --from-literal=text=hello",
        says="created",
    )


def _sudo() -> Iterator[Step]:
    command = "-n team-a create quota limits --hard=pods=10"
    yield Step(
        "A quota is beyond her ordinary rights, so a slip of hers cannot touch it.",
        ALICE,
        f"kubectl {command}",
        says=REFUSED,
        refused=True,
    )
    yield Step(
        "With sudo she may, for this one command.",
        ALICE,
        f"kubectl sudo {command}",
        says="created",
    )
    yield Step(
        "Sudo ends at the border of her namespace, whatever she types.",
        ALICE,
        "kubectl --as=alice --as-group=team-a-sudoers -n kube-system get secrets",
        says=REFUSED,
        refused=True,
    )
    yield Step(
        "Nor can she become anybody else.",
        ALICE,
        "kubectl --as=carol --as-group=team-a-sudoers -n team-a get secrets",
        says="cannot impersonate",
        refused=True,
    )


def _share() -> Iterator[Step]:
    command = "kubectl -n team-a create configmap notes --from-literal=by=bob"
    yield Step(
        "Bob is not on the list, so he cannot work there.",
        BOB,
        command,
        says=REFUSED,
        refused=True,
    )
    yield Step("Alice adds him.", ALICE, f"kubectl lns grant team-a --user {BOB}", says=BOB)
    yield Step("Now he can.", BOB, command, says="created")
    yield Step(
        "He is a user and not a sudoer. He is told so, and what to do about it.",
        BOB,
        "kubectl sudo -n team-a delete quota limits",
        says="not a sudoer",
        refused=True,
    )


def _keep_out() -> Iterator[Step]:
    yield Step(
        "Carol may look, as everybody may, but not touch.",
        CAROL,
        "kubectl -n team-a delete configmap notes",
        says=REFUSED,
        refused=True,
    )
    yield Step("Nor see secrets.", CAROL, "kubectl -n team-a get secrets", REFUSED, refused=True)
    yield Step(
        "Nor let herself in.",
        CAROL,
        "kubectl lns grant team-a --user carol",
        says=REFUSED,
        refused=True,
    )


def _revoke() -> Iterator[Step]:
    yield Step(
        "Alice takes him off the list. When the command returns, it is so.",
        ALICE,
        f"kubectl lns revoke team-a {BOB}",
        says=BOB,
    )
    yield Step(
        "The very next thing he tries is refused.",
        BOB,
        "kubectl -n team-a delete configmap notes",
        says=REFUSED,
        refused=True,
    )


def _drift() -> Iterator[Step]:
    yield Step(
        "An administrator deletes what gives Alice her rights.",
        ADMIN,
        "kubectl -n team-a delete rolebinding lnamespace-users",
        says="deleted",
    )
    yield Step(
        "Within a second it is back, and Alice has noticed nothing.",
        ALICE,
        "kubectl -n team-a delete configmap notes",
        says="deleted",
        within=2.0,
    )


def _pay() -> Iterator[Step]:
    yield Step(
        "Bob wants one of his own. He is in the groups of two cost centres, and is asked which.",
        BOB,
        "kubectl create lns team-b",
        says="say which one",
        refused=True,
    )
    yield Step("He says it.", BOB, "kubectl create lns team-b --cost-center 5080", says="created")
    yield Step(
        "Carol is in none of them, so she cannot have others pay.",
        CAROL,
        "kubectl create lns team-c --cost-center 5080",
        says="5080",
        refused=True,
    )
    yield Step(
        "Later Bob's namespace moves to the other cost centre. What was before stays as it was.",
        BOB,
        """kubectl patch lns team-b --type=merge -p '{"spec":{"billing":{"costCenter":"4711"}}}'""",
        says="patched",
    )


def _bill() -> Iterator[Step]:
    yield Step(
        "What was billed waits in the cluster for the ledger, and not for long.",
        ADMIN,
        "kubectl get billingrecords",
        says="no resources found",
        within=20.0,
    )
    yield Step(
        "The ledger knows who paid for what, from when to when; also for what is gone.",
        ADMIN,
        "lnamespace ledger intervals",
        says="team-a",
    )
    yield Step(
        "The cloud, made up here, sends its bill. It knows namespaces, and no cost centres.",
        ADMIN,
        "python cloud.py bill.csv",
        says="team-b",
    )
    yield Step(
        "The ledger knows whom to charge for each line.",
        ADMIN,
        "lnamespace ledger costs bill.csv",
        says="5080",
    )


def _delete() -> Iterator[Step]:
    yield Step(
        "Alice is done with it.",
        ALICE,
        "kubectl delete lns team-a",
        says="deleted",
    )
    yield Step(
        "The namespace goes, with all that is in it.",
        ADMIN,
        "kubectl get namespace team-a",
        says="not found",
        refused=True,
        within=60.0,
    )
    yield Step(
        "With it went every right that it brought.",
        ADMIN,
        "kubectl get namespaces,clusterroles,clusterrolebindings,roles,rolebindings "
        f"--all-namespaces --selector {OURS}",
        says="no resources found",
        within=10.0,
    )


def _clusters() -> Iterator[Step]:
    yield Step(
        "Alice's team wants a whole cluster: its own namespaces, definitions and roles. The "
        "command returns when kubectl has a context for it, with the login that she has already.",
        ALICE,
        "kubectl create lcluster acme",
        says='context "acme"',
    )
    yield Step(
        "Bob's team has one too, on the same control plane.",
        BOB,
        "kubectl create lcluster beta --cost-center 5080",
        says='context "beta"',
    )
    yield Step(
        "Each begins with the namespaces of every cluster.",
        ALICE,
        "kubectl --context acme get namespaces",
        says="kube-system",
    )


def _same_names() -> Iterator[Step]:
    teams = ((ALICE, "acme", "v1"), (BOB, "beta", "v2"))
    for who, context, version in teams:
        first = who == ALICE
        yield Step(
            "Alice makes a namespace prod." if first else "Bob has a prod too, beside hers.",
            who,
            f"kubectl --context {context} create namespace prod",
            says="created",
        )
        yield Step(
            f"{'She defines' if first else 'He defines other'} widgets, in version {version}.",
            who,
            f"kubectl --context {context} apply -f widgets-{version}.yaml",
            says="created",
        )
        yield Step(
            "Her cluster serves that version." if first else "Nothing is seen of her version.",
            who,
            f"kubectl --context {context} get crd widgets.example.com -o "
            "jsonpath={.spec.versions[*].name}",
            says=version,
        )
    yield Step("A chart, such as people have it.", ALICE, "helm create shop", says="creating")
    for who, context, _ in teams:
        yield Step(
            "Alice installs it." if who == ALICE else "So does Bob, under the same name.",
            who,
            f"helm install shop ./shop --kube-context {context} --namespace shop "
            "--create-namespace",
            says="deployed",
        )


def _apart() -> Iterator[Step]:
    yield Step(
        "Bob may address Alice's cluster, as anybody may.",
        BOB,
        "kubectl lns kubeconfig acme",
        says='context "acme"',
    )
    yield Step(
        "He is told whom to ask, and nothing else.",
        BOB,
        "kubectl --context acme get namespaces",
        says="is not listed",
        refused=True,
    )
    yield Step(
        "A cluster-wide role needs sudo.",
        ALICE,
        "kubectl --context acme create clusterrole deployer --verb=get --resource=pods",
        says=REFUSED,
        refused=True,
    )
    yield Step(
        "With sudo she is the administrator of her cluster, for one command.",
        ALICE,
        "kubectl sudo --context acme create clusterrole deployer --verb=get --resource=pods",
        says="created",
    )
    yield Step(
        "The platform team sees both, under names that never meet.",
        ADMIN,
        "kubectl get namespaces,clusterroles --selector tenancy.loblaw.digital/lcluster",
        says="acme-deployer",
    )
    yield Step("Alice is done with it.", ALICE, "kubectl delete lc acme", says="deleted")
    yield Step(
        "Nothing of it is left.",
        ADMIN,
        "kubectl get namespaces,clusterroles,customresourcedefinitions --selector "
        "tenancy.loblaw.digital/lcluster=acme",
        says="no resources found",
        within=60.0,
    )
