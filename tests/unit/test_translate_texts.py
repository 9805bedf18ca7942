"""Texts for people have the tenant's names without prefix; other words stay."""

import pytest
from lnamespace.translate.texts import text_down

from tests.unit.support.translation import ACME


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
        ('Invalid value: "acme-High_1"', 'Invalid value: "High_1"'),
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
def test_other_words_stay(text: str) -> None:
    assert text_down(ACME, text) == text


def test_an_object_keeps_its_own_name_in_the_key_of_the_storage() -> None:
    text = "Key: /registry/configmaps/acme-prod/acme-c, ResourceVersion: 0"
    shown = "Key: /registry/configmaps/prod/acme-c, ResourceVersion: 0"
    assert text_down(ACME, text, kept="acme-c") == shown
