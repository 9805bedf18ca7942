"""Names of all objects, of the chart and the controller, for all instances: no two meet."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from lnamespace.errors import ProfilesError
from lnamespace.model.names import DEFAULT_SUFFIX, Names
from lnamespace.model.profile import decode_profiles

from tests.unit.support.strategies import tenants

CHART = Path(__file__).resolve().parents[1] / "e2e" / "golden" / "chart"
MADE: list[dict[str, Any]] = list(yaml.safe_load_all((CHART / "default.yaml").read_text()))
PREFIXED = {
    (item["kind"].removesuffix("Binding"), name)
    for item in MADE
    if (name := item["metadata"]["name"]) and "Role" in item["kind"]
    if name.startswith("lnamespace:")
} | {
    (item["kind"].removesuffix("Binding"), item["metadata"]["name"])
    for item in MADE
    if item["kind"].endswith(("PolicyBinding", "Policy", "Configuration"))
    if "admissionregistration" in item["apiVersion"]
}
"""Kind and name of what the chart names by the instance, the one of the default instance."""

WORDS = sorted({re.split("[-:]", name, maxsplit=1)[1] for _, name in PREFIXED})
PARTS = sorted({"profile", *(part for word in WORDS for part in re.split("[-:]", word))})
ODD = (*PARTS, "editor", "sudoer-impersonator", "self-impersonator", "a" * 52)

names_of_tenants = st.sampled_from(ODD) | tenants
profiles = st.sampled_from(ODD) | tenants
bases = st.sampled_from([DEFAULT_SUFFIX, "a", "a.b"])
# One that is called like another and a part of a name behind it.
suffixes = bases | st.builds("{}-{}".format, bases, st.sampled_from([*PARTS, *WORDS]))
digests = st.just("a" * 52)
classes = st.sampled_from(["", "gold", "editor"])


def is_let_in(profile: str) -> bool:
    """Return whether there may be a profile of that name."""
    try:
        return bool(decode_profiles(f"{profile!r}: {{}}".encode(), "f", Names()))
    except ProfilesError:
        return False


def of_the_chart(suffix: str) -> Iterator[tuple[str, str]]:
    """Yield what the chart makes for an instance, whatever its values are."""
    for kind, name in PREFIXED:
        yield kind, name.replace("lnamespace", Names(suffix).prefix, 1)


def of_all(suffix: str, tenant: str, profile: str, person: str, cls: str) -> list[tuple[str, str]]:
    """Return what there may be of an instance; roles and bindings to them have the same names."""
    names = Names(suffix, class_name=cls)
    found = [*of_the_chart(suffix)]
    # Roles of any namespace at once: more than can be in one.
    for kind in ("ClusterRole", "Role"):
        found += [(kind, names.editor(tenant)), (kind, names.sudoer(tenant))]
        found += [(kind, names.self_impersonator(person))]
    if is_let_in(profile):
        found.append(("ClusterRole", f"{names.prefix}:profile:{profile}"))
    return found


@given(suffixes, names_of_tenants, profiles, digests, classes)
def test_all_object_names_of_one_instance_are_different(
    suffix: str, tenant: str, profile: str, person: str, cls: str
) -> None:
    """LNamespace `profile` took the ClusterRole of a profile called `editor`."""
    found = of_all(suffix, tenant, profile, person, cls)
    assert len(set(found)) == len(found)


@given(suffixes, suffixes, names_of_tenants, profiles, digests, classes)
def test_object_names_of_two_instances_are_different(
    one: str, other: str, tenant: str, profile: str, person: str, cls: str
) -> None:
    """Instances `a` and `a-webhook` had a policy `lnamespace.a-webhook-crd` each."""
    if one != other:
        ours = of_all(one, tenant, profile, person, cls)
        assert not {*ours} & {*of_all(other, tenant, profile, person, cls)}


def test_no_name_part_of_the_chart_ends_with_another_name_part() -> None:
    """So no instance suffix can end in a name part. All parts are checked here, not a sample."""
    templates = (CHART.parents[3] / "charts" / "lnamespace" / "templates").glob("*.yaml")
    named = re.compile(r'(?:%s-|"lnamespace[.]prefix" . [}][}]-|prefix [}][}]-)([a-z][-a-z]+)')
    words = {word for path in templates for word in named.findall(path.read_text())}
    assert {name.removeprefix("lnamespace-") for _, name in PREFIXED if "-" in name[:11]} <= words
    meeting = {(one, other) for one in words for other in words if one.endswith(f"-{other}")}
    assert not meeting


def test_the_chart_names_profile_roles_as_this_module_assumes() -> None:
    prefix = Names().prefix
    assert f"name: '{prefix}:profile:" in (CHART / "all-options.diff").read_text()
