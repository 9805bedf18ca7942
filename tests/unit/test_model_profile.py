"""The profiles' file: what it may say, and what is said of what it may not."""

import pytest
from lnamespace.errors import ProfilesError
from lnamespace.model.names import Names
from lnamespace.model.profile import Profile, decode_profiles

NAMES = Names()
GOOD = """
default:
  resourceQuota: {hard: {pods: "50"}}
  labels: {istio-injection: enabled, example.com/x: ""}
big:
  limitRange: {limits: []}
  networkPolicy: {podSelector: {}}
plain: {}
"""


def test_a_profiles_file_is_decoded() -> None:
    assert decode_profiles(GOOD.encode(), "f", NAMES) == {
        "default": Profile(
            resource_quota={"hard": {"pods": "50"}},
            labels={"istio-injection": "enabled", "example.com/x": ""},
        ),
        "big": Profile(limit_range={"limits": []}, network_policy={"podSelector": {}}),
        "plain": Profile(),
    }
    assert decode_profiles(b"", "f", NAMES) == {}


BAD = {
    "a: {quota: {}}": 'f:1: a: unknown field "quota"',
    "a: {resourceQuotas: {}}": 'unknown field "resourceQuotas"; did you mean resourceQuota?',
    "a:\n  labels: {x: 1}": 'f:2: a.labels: must be text: put it in quotes, such as "4711"',
    "a:": "must be a mapping",
    "- a": "f:1: must be a mapping",
    "a: {}\na: {}": "f:2:1: the key 'a' is given twice",
    "a: [": "f:1:",
    "A b: {}": "a profile's name must be a DNS label",
    "editor: {}": "no profile may be called editor",
    "sudoer-impersonator: {}": "no profile may be called sudoer-impersonator",
    "a-: {}": "a profile's name must be a DNS label",
    "a: {labels: {a b: x}}": "a.labels: a b: not the key of a label",
    "a: {labels: {/x: x}}": "not the key of a label",
    "a: {labels: {x: a b}}": "the value must be at most 63 letters",
    f"a: {{labels: {{x: {'y' * 64}}}}}": "the value must be at most 63 letters",
    "a: {labels: {tenancy.loblaw.digital/team: x}}": "is not a profile's to set",
    "a: {labels: {app.kubernetes.io/managed-by: x}}": "is not a profile's to set",
    "a: {labels: {kubernetes.io/metadata.name: x}}": "is not a profile's to set",
    "\x00": "f: not YAML",
}


@pytest.mark.parametrize("text", BAD)
def test_a_mistake_in_a_profiles_file_is_reported_with_its_position(text: str) -> None:
    with pytest.raises(ProfilesError) as caught:
        decode_profiles(text.encode(), "f", NAMES)
    assert BAD[text] in str(caught.value)


def test_a_profiles_file_larger_than_a_config_map_is_refused() -> None:
    with pytest.raises(ProfilesError, match="larger than"):
        decode_profiles(b"#" * 1024 * 1024 + b"\n", "f", NAMES)
