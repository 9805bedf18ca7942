"""Profiles: what the platform team puts into namespaces, read from a YAML file.

The specs in a profile are those of Kubernetes, which only an API server can check
(:mod:`lnamespace.controller.profiles` asks one). All else is checked here.
"""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lnamespace.errors import ProfilesError
from lnamespace.files import strict_yaml
from lnamespace.files.strict_yaml import ErrorHints, StrictYamlError
from lnamespace.model.names import NAME_PARTS, Names
from lnamespace.model.rules import DNS_LABEL, DNS_LABEL_MAX_LENGTH, DNS_SUBDOMAIN

DEFAULT_PROFILE = "default"
"""The profile of LNamespaces that name none, if it exists."""

BYTES_MAX = 1024 * 1024
"""The size of a ConfigMap."""

SERVER_LABELS = ("kubernetes.io/metadata.name", "app.kubernetes.io/managed-by")
"""Labels of a Namespace that the API server or the controller uses."""

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

Json = dict[str, Any]


class Profile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a profile puts into a namespace: the specs of three objects, and labels."""

    resource_quota: Annotated[Json | None, Meta(description="The spec of a ResourceQuota.")] = None
    limit_range: Annotated[Json | None, Meta(description="The spec of a LimitRange.")] = None
    network_policy: Annotated[Json | None, Meta(description="The spec of a NetworkPolicy.")] = None
    labels: Annotated[dict[str, str], Meta(description="Labels of the Namespace.")] = {}


_KEYS = tuple(field.encode_name for field in msgspec.structs.fields(Profile))


def decode_profiles(content: bytes, source: str, names: Names) -> dict[str, Profile]:
    """Read the profiles of a file, by name; an empty file has none.

    Raises
    ------
    ProfilesError
        The file cannot be used; the message has ``source``, the line and the field.
    """
    if len(content) > BYTES_MAX:
        raise ProfilesError(f"{source}: larger than {BYTES_MAX} bytes")
    try:
        written, place = strict_yaml.read(content, source, Json, ErrorHints())
        found = {
            name: strict_yaml.convert(value, Profile, place, ErrorHints(_KEYS), name)
            for name, value in written.items()
        }
    except StrictYamlError as error:
        raise ProfilesError(str(error)) from error
    for name, profile in found.items():
        if path_and_problem := _problem(name, profile, names):
            raise ProfilesError(place.message(*path_and_problem))
    return found


def _problem(name: str, profile: Profile, names: Names) -> tuple[str, str] | None:
    if len(name) > DNS_LABEL_MAX_LENGTH or not re.fullmatch(DNS_LABEL, name):
        return name, "a profile's name must be a DNS label of at most 63 characters"
    if name in NAME_PARTS:
        return name, f"no profile may be called {name}: a role of an LNamespace ends so"
    for key, value in profile.labels.items():
        if problem := label_problem(key, value, names):
            return f"{name}.labels", f"{key}: {problem}"
    return None


def label_problem(key: str, value: str, names: Names) -> str:
    """Return why no profile may put a label on a Namespace; empty if one may."""
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name) or (slash and not re.fullmatch(DNS_SUBDOMAIN, prefix)):
        return "not the key of a label"
    if not _LABEL_VALUE.fullmatch(value):
        return "the value must be at most 63 letters, digits, '-', '_' or '.'"
    if key in SERVER_LABELS or prefix == names.group:
        return "is not a profile's to set"
    return ""
