"""hack/adoption: LNamespaces for namespaces that exist, from their RoleBindings."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).resolve().parents[2] / "hack" / "adoption"


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def binding(where: str, role: str, *subjects: dict[str, str]) -> dict[str, Any]:
    return {
        "kind": "RoleBinding",
        "metadata": {"namespace": where, "name": f"{role}-{len(subjects)}"},
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": list(subjects),
    }


def made(objects: list[dict[str, Any]], *options: str) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(TOOL), *options],
        input=json.dumps({"items": objects}),
        check=True,
        capture_output=True,
        text=True,
    )
    return {one["metadata"]["name"]: one["spec"] for one in json.loads(done.stdout)["items"]}


def told(*options: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Return what it says; with no input given, its input never ends."""
    read, write = os.pipe()
    with os.fdopen(read), os.fdopen(write, "w") as endless:
        source = {"stdin": read} if given is None else {"input": given}
        done = subprocess.run(
            [sys.executable, str(TOOL), *options],
            **source,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert not endless.closed
    return done


def test_help_and_an_unknown_option_do_not_wait_for_input() -> None:
    asked = told("--help")
    assert asked.returncode == 0
    assert "--manager-group" in asked.stdout
    mistyped = told("--rolle=admin")
    assert mistyped.returncode == 2
    assert "--rolle" in mistyped.stderr


@pytest.mark.parametrize("given", ["", "no JSON", "[]", "{}", "null"])
def test_input_that_kubectl_did_not_print_is_refused_with_a_message(given: str) -> None:
    refused = told(given=given)
    assert refused.returncode == 1
    assert "kubectl get namespaces,rolebindings" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_plan_warns_about_requesters_above_the_limit() -> None:
    """In a dry run each creation was the first of its requester; real creations hit the limit."""
    objects = [namespace(f"n{at}") for at in range(7)]
    objects += [binding(f"n{at}", "admin", user("alice")) for at in range(7)]
    plan = told(given=json.dumps({"items": objects}))
    assert "7 LNamespaces" in plan.stderr
    assert "limitExceptions" in plan.stderr


def test_subjects_of_ordinary_roles_become_users_and_people_also_managers() -> None:
    account = {"kind": "ServiceAccount", "name": "ci", "namespace": "pipelines"}
    found = made([
        namespace("shop"),
        binding("shop", "admin", user("alice")),
        binding("shop", "edit", user("alice"), account),
        binding("shop", "view", user("carol")),
    ])  # fmt: skip
    alice = {"kind": "User", "name": "alice"}
    assert found == {
        "shop": {"users": [alice, account], "managers": [alice], "deletionPolicy": "Retain"}
    }


def test_options_choose_roles_a_manager_group_and_the_cost_center_label() -> None:
    objects = [namespace("shop", **{"cost-center": "0815"}), binding("shop", "dev", user("bob"))]
    options = "--role", "dev", "--manager-group", "platform", "--cost-center-label", "cost-center"
    assert made(objects, *options)["shop"] == {
        "users": [{"kind": "User", "name": "bob"}],
        "managers": [{"kind": "Group", "name": "platform"}],
        "deletionPolicy": "Retain",
        "billing": {"costCenter": "0815"},
    }


def test_namespaces_without_tenants_are_left_out() -> None:
    taken = namespace("taken", **{"app.kubernetes.io/managed-by": "lnamespace"})
    names = ["kube-system", "default", "openshift-x", "lnamespace-system"]
    objects = [taken, *map(namespace, names), namespace("empty"), namespace("system")]
    objects += [binding(name, "admin", user("alice")) for name in ["taken", *names]]
    objects += [binding("system", "admin", user("system:masters"))]
    assert made(objects) == {}
