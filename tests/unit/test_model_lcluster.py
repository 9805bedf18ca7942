"""LClusters: their names, their types and their CustomResourceDefinition."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.cli import main
from lnamespace.errors import ModelError
from lnamespace.model.lcluster import (
    RESERVED_TENANTS,
    Suspension,
    decode_lcluster,
    tenant_name_problem,
    tenant_of_name,
)
from lnamespace.model.lcluster_crd import build_lcluster_crd
from lnamespace.model.names import Names
from lnamespace.translate.names.tenant_view import TenantView

from tests.unit.support import cel

FILE = Path(__file__).resolve().parents[2] / "crds" / "lclusters.yaml"
CRD = build_lcluster_crd(Names())
ROOT = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
SPEC = ROOT["properties"]["spec"]


def passes_cel(name: str) -> bool:
    rules = (cel.compiled(entry["rule"]) for entry in ROOT["x-kubernetes-validations"])
    return all(rule(cel.value({"metadata": {"name": name}}), cel.value(None)) for rule in rules)


@pytest.mark.parametrize("name", ["acme", "a1", "a" * 20])
def test_a_short_name_without_dash_is_allowed(name: str) -> None:
    assert tenant_name_problem(name) is None
    assert passes_cel(name)


@pytest.mark.parametrize(
    "name", ["", "a", "a" * 21, "1a", "ac-me", "ac.me", "Acme", "acm\u00e9", "acme\n"]
)
def test_any_other_name_is_refused(name: str) -> None:
    assert tenant_name_problem(name)
    assert not passes_cel(name)


@pytest.mark.parametrize("name", RESERVED_TENANTS)
def test_name_prefixes_of_the_platform_are_refused(name: str) -> None:
    assert tenant_name_problem(name)
    assert not passes_cel(name)


@given(st.text(alphabet="ab1-.A\n", max_size=22))
def test_the_crd_and_the_python_rules_agree_on_names(name: str) -> None:
    assert passes_cel(name) == (tenant_name_problem(name) is None)


@given(st.from_regex(r"[a-z][a-z0-9]{1,19}", fullmatch=True), st.text(min_size=1))
def test_a_prefixed_name_belongs_to_exactly_one_tenant(tenant: str, name: str) -> None:
    assert tenant_of_name(f"{tenant}-{name}") == tenant


@pytest.mark.parametrize("name", ["acme", "Acme-x", "-x", "1a-x", "a.b-x", ""])
def test_names_without_a_valid_prefix_belong_to_no_tenant(name: str) -> None:
    assert tenant_of_name(name) == ""


def test_the_crd_file_is_the_rendered_output_of_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["render", "lclusters"]) == 0
    assert capsys.readouterr().out == FILE.read_text(), "run `make crds`"
    assert yaml.safe_load(FILE.read_text()) == CRD


def test_an_lcluster_has_no_profile() -> None:
    assert "profile" not in SPEC["properties"]
    assert SPEC["properties"]["deletionPolicy"]["default"] == "Delete"
    assert SPEC["properties"]["suspend"]["enum"] == ["", "Closed", "ReadOnly"]


def test_the_requester_never_changes() -> None:
    rules = [cel.compiled(entry["rule"]) for entry in SPEC["x-kubernetes-validations"]]
    old = {"requester": "ann"}
    assert all(rule(cel.value(old), cel.value(old)) for rule in rules)
    assert not all(rule(cel.value({"requester": "ben"}), cel.value(old)) for rule in rules)
    assert not all(rule(cel.value({}), cel.value(old)) for rule in rules)


def test_an_lcluster_is_decoded() -> None:
    raw = b"""{"metadata": {"name": "acme", "uid": "1"},
      "spec": {"users": [{"name": "ann"}], "suspend": "ReadOnly"}}"""
    found = decode_lcluster(raw)
    assert (found.name, found.spec.suspend) == ("acme", Suspension.READ_ONLY)
    assert found.system_namespaces[:2] == ("acme-default", "acme-kube-system")
    with pytest.raises(ModelError, match=r"suspend"):
        decode_lcluster(b'{"metadata": {"name": "acme"}, "spec": {"suspend": "Half"}}')


def test_gateway_and_controller_use_the_same_label_key() -> None:
    assert TenantView("acme").tenant_label == Names().lcluster_label


def test_names_of_lclusters_and_lnamespaces_do_not_collide() -> None:
    names = Names()
    editor = names.cluster_editor("acme")
    assert (names.lcluster_of(editor), names.lnamespace_of(editor)) == ("acme", None)
    assert names.lcluster_of(names.editor("acme")) is None


def test_another_instance_has_accounts_in_another_namespace() -> None:
    assert Names().clusters_namespace == "lnamespace-clusters"
    other = Names("example.com").cluster_account("acme")
    assert other.namespace.startswith("lnamespace-clusters-")
