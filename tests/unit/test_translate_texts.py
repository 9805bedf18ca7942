"""Texts for people have the tenant's names without prefix; other words stay."""

import re
import time

import pytest
from hypothesis import given, strategies
from lnamespace.translate.objects.context import NAMES_OF_AN_OBJECT
from lnamespace.translate.objects.texts import text_down

from tests.unit.support.translation import ACME, TYPES, down


@pytest.mark.parametrize(
    ("upstream", "shown"),
    [
        ('namespaces "acme-prod" not found', 'namespaces "prod" not found'),
        (
            "namespace acme-prod is being terminated",
            "namespace prod is being terminated",
        ),
        (
            "no PriorityClass with name acme-/a/b was found",
            "no PriorityClass with name /a/b was found",
        ),
        ("PriorityClass with name acme-high is gone", "PriorityClass with name high is gone"),
        (
            "failed to create typed patch object (/acme-mine; example.com/v1, kind=Foo): .spec",
            "failed to create typed patch object (/mine; example.com/v1, kind=Foo): .spec",
        ),
        (
            "failed to create typed patch object (acme-prod/acme-x; apps/v1, kind=Deployment)",
            "failed to create typed patch object (prod/acme-x; apps/v1, kind=Deployment)",
        ),
        ('User "lcluster:acme:bob" cannot', 'User "bob" cannot'),
        ("system:serviceaccount:acme-prod:default", "system:serviceaccount:prod:default"),
        (
            'user "system:serviceaccount:lnamespace-clusters:acme" is attempting',
            'user "the cluster" is attempting',
        ),
        ("/api/v1/namespaces/acme-prod/pods", "/api/v1/namespaces/prod/pods"),
        ("https://hook.acme-prod.svc:443/x", "https://hook.prod.svc:443/x"),
        ('RoleBinding "x" of ClusterRole "acme-r"', 'RoleBinding "x" of ClusterRole "r"'),
        ("no matches for kind W in version acme-example.com/v1", None),
        ("widgets.acme-example.com is forbidden", "widgets.example.com is forbidden"),
        ("Key: /registry/configmaps/acme-prod/c, x", "Key: /registry/configmaps/prod/c, x"),
        ("Key: /registry/clusterroles/acme-r, x", "Key: /registry/clusterroles/r, x"),
        ("Key: /configmaps/acme-gone/acme-c, x", "Key: /configmaps/gone/acme-c, x"),
        (
            "Key: /acme-example.com/widgets/acme-prod/w, x",
            "Key: /example.com/widgets/prod/w, x",
        ),
        (
            "failed to create typed patch object (acme-none/; /v1, Kind=Pod): .spec",
            "failed to create typed patch object (none/; /v1, Kind=Pod): .spec",
        ),
        (
            'roleRef: Invalid value: {"Kind":"ClusterRole","Name":"inert:acme-other"}: cannot',
            'roleRef: Invalid value: {"Kind":"ClusterRole","Name":"other"}: cannot',
        ),
        ('"inert:acme-a/b": may not contain', '"a/b": may not contain'),
        (
            '"VolumeName": "acme-pv", "StorageClassName": "acme-s", "PriorityClassName": "acme-p"',
            '"VolumeName": "pv", "StorageClassName": "s", "PriorityClassName": "p"',
        ),
        (
            r'"metadata\":{\"name\":\"acme-x\",\"namespace\":\"acme-prod\"}',
            r'"metadata\":{\"name\":\"acme-x\",\"namespace\":\"prod\"}',
        ),
        ('secret-namespace":"acme-other"}: field is immutable', None),
        (
            "namespace of the object (acme-z) does not match the namespace on the request (acme-p)",
            "namespace of the object (z) does not match the namespace on the request (p)",
        ),
        (
            "Key: /registry/acme-example.com/widgets/acme-prod/w",
            "Key: /registry/example.com/widgets/prod/w",
        ),
    ],
)
def test_a_name_of_the_tenant_loses_its_prefix(upstream: str, shown: str | None) -> None:
    assert text_down(ACME, upstream) == (shown or upstream.replace("acme-", ""))


@pytest.mark.parametrize(
    "text",
    [
        "the name of the object (acme-api) does not match the name on the URL (acme-web)",
        "Failed to load JDBC driver: acme-postgres",
        'spark driver: "acme-job-driver" failed',
        '{"driver":"acme-nic","storageClassName":"acme-fast"}',
        'FlexVolume: {Driver: "acme-corp/nfs"}',
        'ScaleIO: {VolumeName: "acme-data"}',
        "storageClassName: acme-fast",
    ],
)
def test_an_ambiguous_name_is_unchanged(text: str) -> None:
    assert text_down(ACME, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "my-acme-thing",
        "the acme- prefix",
        "notacme-prod",
        'Back-off pulling image "acme-corp/app:1"',
        'Pulling image "registry.acme-corp.com/app"',
        "docker.io/acme-corp/app",
        "beta-prod",
        "acme",
    ],
)
def test_other_words_are_unchanged(text: str) -> None:
    assert text_down(ACME, text) == text


@pytest.mark.parametrize(
    "text",
    [
        'secret "acme-db" not found',
        'secrets "acme-prod" not found',
        "Created pod: acme-api-5d-x",
        "containers with unready status: [acme-api acme-web]",
        "lookup acme-db.example.com: no such host",
        'deployments.apps "acme-api" not found',
        'widgets.acme.example.com "acme-w" not found',
        "exceeded quota: acme-q, requested: pods=1",
        'persistentvolumeclaim "acme-data" not found',
        'MountVolume.SetUp failed for volume "acme-config" : configmap "acme-c" not found',
        'Readiness probe failed: Get "http://acme-db/ready"',
        "serviceaccount/acme-prod",
        "Role acme-r, RoleBinding acme-b",
        "stopping container acme-prod of acme-later/x",
        'image "acme-prod/app" is wrong',
    ],
)
def test_an_object_in_a_namespace_keeps_its_own_name(text: str) -> None:
    assert text_down(ACME, text) == text


@pytest.mark.parametrize(
    "text",
    [
        'in the namespace "{0}prod"',
        "namespace={0}prod; ns/{0}prod",
        "error looking up service account {0}prod/acme-sa: not found",
        'claim "{0}prod/acme-data" is bound by "{0}prod"/"acme-pod"',
        "back-off 5m0s restarting failed container=c pod=acme-p_{0}prod(%s)",
        'cni failed to set up pod "acme-p_{0}prod" network',
        "lookup acme-db.{0}later.svc.cluster.local on 10.0.0.10:53",
        'system:serviceaccount:{0}prod:acme-sa, "system:serviceaccounts:{0}prod"',
        'storageclass.storage.k8s.io "{0}fast" not found',
        "no PriorityClass with name {0}high was found",
        'bound to non-existent persistentvolume "{0}pv"',
        'AttachVolume.Attach failed for volume "{0}pv" : no',
        'Cannot bind to requested volume "{0}pv": no match',
        'gadgets.{0}example.com "{0}g" not found',
        "ownerRef [{0}example.com/v1/Gadget, namespace: {0}prod, name: {0}g, uid: 1] is gone",
        '{{"kind":"ClusterRole","name":"{0}r"}} and {{"kind":"Role","name":"acme-r"}}',
        "quota: q, requested: {0}fast.storageclass.storage.k8s.io/requests.storage=1",
        "match these scopes: [{{PriorityClass In [{0}high {0}low]}}]",
        'conflict with "acme-me" using {0}example.com/v1: .spec',
        'no matches for kind "W" in version "{0}other.com/v1"',
        "by the external provisioner '{0}csi' or manually",
        'Storage class {0}fast, storage class: "{0}fast"',
        "Key: /registry/services/specs/{0}prod/acme-c, and /registry/persistentvolumes/{0}acme-pv",
    ],
)
def test_names_in_known_phrases_lose_their_prefix(
    text: str,
) -> None:
    text = text.replace("%s", "0b7a3b2e-7b1c-4a43-8c51-6f2f6c1d2e3f")
    assert text_down(ACME, text.format("acme-")) == text.format("")


def test_the_namespace_of_the_request_loses_its_prefix_after_its_deletion() -> None:
    assert text_down(ACME, "acme-old/acme-c", namespace="acme-old") == "old/acme-c"
    assert text_down(ACME, "acme-old/acme-c") == "acme-old/acme-c"


def test_a_name_with_a_doubled_prefix_loses_only_the_first() -> None:
    assert text_down(ACME, 'namespace "acme-acme-x"') == 'namespace "acme-x"'


def failed(plural: str, field: str, value: str, **details: str) -> tuple[str, str, str]:
    """Return the texts of a Status about a value, as the tenant has it."""
    said = f"Invalid value: {value}: no"
    cause = {"reason": "FieldValueInvalid", "message": said, "field": field}
    about = {"group": TYPES[plural].group, "kind": TYPES[plural].kind, **details}
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "message": f"it is invalid: {field}: {said}",
        "details": {**about, "causes": [cause]},
    }
    shown = down(plural, status, "create")
    found = shown["details"]["causes"][0]
    return shown["message"], found["message"], found["field"]


@pytest.mark.parametrize(
    ("plural", "field", "value", "shown"),
    [
        ("clusterroles", "metadata.name", '"acme-R_"', '"R_"'),
        ("roles", "metadata.name", '"acme-R_"', '"acme-R_"'),
        ("configmaps", "metadata.namespace", '"acme-prod"', '"prod"'),
        ("configmaps", "data[acme-x]", '"acme-x"', '"acme-x"'),
        ("pods", "spec.priorityClassName", '"acme-High"', '"High"'),
        ("pods", "spec.serviceAccountName", '"acme-Sa"', '"acme-Sa"'),
        ("customresourcedefinitions", "spec.group", '"acme-new.com"', '"new.com"'),
        (
            "rolebindings",
            "roleRef",
            '{"apiGroup":"g","kind":"ClusterRole","name":"acme-acme-r"}',
            '{"apiGroup":"g","kind":"ClusterRole","name":"acme-r"}',
        ),
        (
            "rolebindings",
            "roleRef",
            '{"APIGroup":"g","Kind":"ClusterRole","Name":"acme-acme-r"}',
            '{"APIGroup":"g","Kind":"ClusterRole","Name":"acme-r"}',
        ),
        ("pods", "spec.priorityClassName", '"acme-acme-high"', '"acme-high"'),
        (
            "rolebindings",
            "roleRef",
            '{"apiGroup":"g","kind":"Role","name":"acme-r"}',
            '{"apiGroup":"g","kind":"Role","name":"acme-r"}',
        ),
    ],
)
def test_a_quoted_field_value_is_in_the_spelling_of_its_field(
    plural: str, field: str, value: str, shown: str
) -> None:
    said = f"Invalid value: {shown}: no"
    assert failed(plural, field, value) == (f"it is invalid: {field}: {said}", said, field)


WORDS = strategies.text("acme-prod/.\"'[]_ :", max_size=40) | strategies.sampled_from(
    ["acme-x", "namespace acme-x", "lcluster:acme:", "/registry/acme-x/acme-y", "acme-prod/acme-x"]
)


@given(strategies.lists(WORDS, max_size=5))
def test_a_text_loses_prefixes_and_nothing_else(words: list[str]) -> None:
    text = " ".join(words).replace("lcluster:acme:", "").replace('"lcluster.acme"', "")
    shown = text_down(ACME, text)
    assert shown.replace("acme-", "") == text.replace("acme-", "")


@given(strategies.sampled_from(["pod", "secrets", "container", "deployments.apps"]), WORDS)
def test_a_name_after_a_namespaced_kind_is_unchanged(kind: str, word: str) -> None:
    name = f"acme-{re.sub('[^a-z]', '', word)}"
    assert text_down(ACME, f'{kind} "{name}" is {name}') == f'{kind} "{name}" is {name}'


@pytest.mark.parametrize(
    "text",
    [
        "acme-" * 300_000,
        "namespace acme-" * 100_000,
        "a" * 1_000_000 + " acme-",
        "a[" * 500_000 + " acme-",
        "Invalid value: [" * 60_000 + " acme-",
        "spec.group: Invalid value: {" * 60_000 + " acme-",
        "/registry/acme-" * 100_000,
        "/registry/a " * 100_000 + "/registry/acme-x",
    ],
)
def test_a_text_consisting_of_many_names_is_translated_quickly(text: str) -> None:
    failed("customresourcedefinitions", "spec.group", "1")
    began = time.process_time()
    failed("customresourcedefinitions", "spec.group", text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("upstream", "shown"),
    [
        ('"x.org.acme.lcluster/aggregate-to-%": bad', '"x.org/aggregate-to-%": bad'),
        ("metadata.labels[acme.lcluster/aggregate-to-x]", "metadata.labels[aggregate-to-x]"),
        ('storageclass.storage.k8s.io "lcluster.acme" not found', None),
    ],
)
def test_prefixed_labels_and_values_are_shown_as_the_tenant_wrote_them(
    upstream: str, shown: str | None
) -> None:
    assert text_down(ACME, upstream) == (shown or 'storageclass.storage.k8s.io "" not found')


REPEATED = [" acme-" * 170, "priorityclass in [" + "x acme-" * 140, '"acme-' * 170]


@pytest.mark.parametrize("text", REPEATED)
def test_texts_that_repeat_the_prefix_are_translated_quickly(text: str) -> None:
    """Each took 20 ms or more, and a list of 500 Events with such messages seconds."""
    began = time.process_time()
    for number in range(100):
        text_down(ACME, f"{number}{text}")
    assert time.process_time() - began < 0.8


def test_the_number_of_translated_names_in_one_object_is_limited() -> None:
    """200 conditions of 1.5 KB took 8 s at each read of their Deployment."""
    message = "namespace acme-prod " * 20
    conditions = [{"type": f"T{each}", "message": message} for each in range(100)]
    made = {"metadata": {"name": "d"}, "status": {"conditions": conditions}}
    for _ in range(2):
        shown = [each["message"] for each in down("deployments", made)["status"]["conditions"]]
        assert shown[0] == "namespace prod " * 20
        assert sum(each.count("acme-") for each in shown) == 100 * 20 - NAMES_OF_AN_OBJECT
