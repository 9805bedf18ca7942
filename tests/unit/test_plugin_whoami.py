"""What `kubectl lns whoami` makes of the answers to its questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from lnamespace.plugins.cluster.kubectl import Reply, caller
from lnamespace.plugins.commands.lns import FLAGS
from lnamespace.plugins.runtime.errors import KubectlError
from lnamespace.plugins.runtime.flags import parse
from lnamespace.plugins.views.whoami import Choices, cost_centers, open_profiles, show_caller

INVALID = 'The LNamespace "x" is invalid: spec.billing.costCenter: '
SEVERAL = """Required value: several could pay, so say which one:
  costCenter: "1"   or  --cost-center 1      (group "red")
  costCenter: "2 b" or  --cost-center '2 b'  (group "green")
""".replace('"2 b" or', '"2 b"  or')
YOURS = SEVERAL.replace(
    "several could pay, so say which one", 'you may not charge "x"; you may charge'
)
NOBODY = 'Invalid value: "x": you may not charge "x": no entry is for you; ask your platform team\n'
NO_PROFILE = (
    "Error from server (Invalid): lnamespaces.tenancy.loblaw.digital is forbidden: "
    'spec.profile: there is no profile "x"; there are: big, default, plain\n'
)
FORBIDDEN = Reply(1, "", 'Error from server (Forbidden): User "bob" cannot create\nmore\n')

DOWN = Reply(1, "", "Error from server (InternalError): failed calling webhook")


def charged(cost_center: str) -> Reply:
    return Reply(0, json.dumps({"spec": {"billing": {"costCenter": cost_center}}}), "")


def refused(why: str) -> Reply:
    return Reply(1, "", f"{INVALID}{why}")


@pytest.mark.parametrize(
    ("plain", "other", "shown"),
    [
        (charged("unallocated"), charged("x"), "unallocated (if you name none), any other"),
        (charged("1"), refused(YOURS), "1 (if you name none), 2 b"),
        (refused(SEVERAL), refused(YOURS), "1, 2 b"),
        (refused(SEVERAL), charged("x"), "1, 2 b, any other"),
        (charged("unallocated"), refused(NOBODY), "unallocated (if you name none)"),
        (FORBIDDEN, FORBIDDEN, f"<none> ({FORBIDDEN.err.splitlines()[0]})"),
        (DOWN, DOWN, f"<unknown> ({DOWN.err})"),
    ],
)
def test_whoami_shows_the_cost_centers_that_the_caller_may_charge(
    plain: Reply, other: Reply, shown: str
) -> None:
    assert cost_centers(plain, other).shown == shown


def rules(*found: dict[str, list[str]]) -> Reply:
    return Reply(0, json.dumps({"status": {"resourceRules": found}}), "")


def rule(**more: list[str]) -> dict[str, list[str]]:
    return {
        "verbs": ["use"],
        "apiGroups": ["tenancy.loblaw.digital"],
        "resources": ["profiles"],
    } | more


ALL = {key: ["*"] for key in ("verbs", "apiGroups", "resources")}


@pytest.mark.parametrize(
    ("told", "allowed", "shown"),
    [
        (NO_PROFILE, rules(), "default (if you name none)"),
        (NO_PROFILE, rules(rule(resourceNames=["big"])), "big, default (if you name none)"),
        (NO_PROFILE, rules(ALL), "big, default (if you name none), plain"),
        (
            NO_PROFILE,
            rules(rule(verbs=["get"]), rule(resources=["x"])),
            "default (if you name none)",
        ),
        (NO_PROFILE.replace("big, default, plain", "none"), rules(ALL), "<none>"),
        (NO_PROFILE, FORBIDDEN, "default (if you name none)"),
        (FORBIDDEN.err, rules(rule(resourceNames=["big"])), "big, default"),
        (FORBIDDEN.err, rules(ALL), "default, any other"),
        (FORBIDDEN.err, rules(), "<none>"),
        (DOWN.err, rules(), "<unknown>"),
    ],
)
def test_whoami_shows_the_profiles_that_the_caller_may_choose(
    told: str, allowed: Reply, shown: str
) -> None:
    assert open_profiles(Reply(1, "", told), allowed).shown == shown


@pytest.mark.parametrize(("output", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_whoami_prints_all_values_for_programs(
    output: str,
    load: Callable[[str], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        'auth*) echo \'{"status": {"userInfo": {"username": "bob"}}}\';;\n'
        "get*) echo '{\"items\": []}';;\n"
        "*rulesreviews*) cat >/dev/null; echo '{}';;\n"
        '*) cat > /dev/null; echo "Error from server (Forbidden): no" >&2; exit 1;;\n'
        "esac\n"
    )
    kubectl.chmod(0o755)
    monkeypatch.setenv("KUBECTL", str(kubectl))
    assert show_caller(parse(["whoami", "-o", output], FLAGS)) == 0
    nothing = {"names": [], "anything": False, "default": ""}
    assert load(capsys.readouterr().out) == {
        "username": "bob",
        "groups": [],
        "writtenAs": "bob",
        "costCenters": nothing,
        "profiles": nothing,
        "lnamespaces": [],
    }


def test_a_kubectl_that_is_too_old_is_said_to_be() -> None:
    """Those up to 1.26 know no `auth whoami`, and say nothing but that."""
    told = "error: unknown shorthand flag: 'o' in -o\nSee 'kubectl auth --help' for usage."
    with pytest.raises(KubectlError, match="This kubectl is too old"):
        caller(Reply(1, "", told))


def test_empty_choices_are_shown_as_none() -> None:
    assert Choices().shown == "<none>"
