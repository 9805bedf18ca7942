"""Vetted rights as files: ``docs/vetted/1.36.yaml`` for Kubernetes 1.36.

A snapshot is a ClusterRole that can be applied. With its name in ``usersRole``, tenants have the
vetted rights and never more, whatever an upgrade or an add-on adds to the role ``admin``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from lnamespace.access.vetting import Right, refusal, rights_of, rules_of
from lnamespace.errors import OptionError, SettingsError
from lnamespace.kube.objects import PolicyRule
from lnamespace.kube.resources import CLUSTER_ROLE

OURS = Path("docs") / "vetted"
"""The folder of a checkout, where snapshots are written unless another is given."""

SHIPPED = Path(__file__).with_name("vetted")
"""The snapshots of the installed package; ``docs/vetted`` links to them."""

Version = tuple[int, int]
"""Major and minor: Kubernetes' own roles are the same in all patch releases of these."""

_HEAD = """\
# What a users' role gave that somebody looked through and found fit for tenants.
# Written by `lnamespace vet --record`. Who looked is for the history of this file to say.
"""
_ROLE = "lnamespace/vetted-role"
_SERVER = "lnamespace/vetted-kubernetes"
_DATE = "lnamespace/vetted-on"


@dataclass(frozen=True)
class Snapshot:
    """The rights of ClusterRole ``role`` on ``date`` (ISO 8601) on server ``server``."""

    role: str
    server: str
    date: str
    rights: frozenset[Right]

    def says_the_same(self, other: "Snapshot") -> bool:
        """Return whether at most the dates differ."""
        return (self.role, self.server, self.rights) == (other.role, other.server, other.rights)


class _SnapshotMetadata(msgspec.Struct, frozen=True):
    annotations: dict[str, str]


class _SnapshotFile(msgspec.Struct, frozen=True):
    metadata: _SnapshotMetadata
    rules: tuple[PolicyRule, ...]


def version_of(server: str) -> Version:
    """Return the version of a server's ``gitVersion``, such as v1.36.3-gke.100.

    Raises
    ------
    SettingsError
        The text does not begin with a version.
    """
    found = re.match(r"v?(\d+)\.(\d+)", server)
    if not found:
        raise SettingsError(f"the server's version is not understood: {server!r}")
    return int(found[1]), int(found[2])


def folder(named: str | None, *, record: bool) -> Path:
    """Return the folder of the snapshots; never that of the shipped ones to ``record`` in.

    Raises
    ------
    OptionError
        The named folder does not exist, and nothing is to be recorded in it. Compared with an empty
        folder, every right would be new.
    """
    if named:
        if not record and not Path(named).is_dir():
            raise OptionError(f"--snapshots: there is no folder {named}")
        return Path(named)
    return OURS if record or OURS.is_dir() else SHIPPED


def file_of(folder: Path, version: Version) -> Path:
    """Return the path of the snapshot for a version."""
    return folder / f"{version[0]}.{version[1]}.yaml"


def nearest(version: Version, recorded: Iterable[Version]) -> Version | None:
    """Return the version itself or the nearest earlier one; None if there is neither."""
    return max((one for one in recorded if one <= version), default=None)


def recorded(folder: Path) -> frozenset[Version]:
    """Return the versions for which a folder has snapshots; empty without the folder."""
    names = (re.fullmatch(r"(\d+)\.(\d+)\.yaml", path.name) for path in folder.glob("*.yaml"))
    return frozenset((int(name[1]), int(name[2])) for name in names if name)


def load(path: Path) -> Snapshot:
    """Read a snapshot.

    Raises
    ------
    SettingsError
        The file cannot be read, is no snapshot, or has a right that no tenant may have.
    """
    try:
        snapshot = decode(path.read_bytes())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, msgspec.ValidationError, KeyError, UnicodeError) as error:
        raise SettingsError(f"{path}: not a snapshot of `lnamespace vet`: {error}") from error
    for right in sorted(snapshot.rights):
        if why := refusal(right):
            what = f"{right.verb} {right.resource!r} of {right.group!r}"
            raise SettingsError(f"{path}: {what} cannot be vetted: {why}")
    return snapshot


def decode(text: bytes) -> Snapshot:
    """Decode the content of a file that :func:`encode` made."""
    file = msgspec.convert(yaml.safe_load(text), _SnapshotFile)
    annotations = file.metadata.annotations
    return Snapshot(
        annotations[_ROLE], annotations[_SERVER], annotations[_DATE], rights_of(file.rules)
    )


def encode(snapshot: Snapshot) -> str:
    """Encode a snapshot as YAML, sorted and with few lines for a resource, for readable diffs."""
    version = ".".join(map(str, version_of(snapshot.server)))
    annotations = {_ROLE: snapshot.role, _SERVER: snapshot.server, _DATE: snapshot.date}
    manifest = {
        "apiVersion": CLUSTER_ROLE.api_version,
        "kind": CLUSTER_ROLE.kind,
        "metadata": {"name": f"vetted-{snapshot.role}-{version}", "annotations": annotations},
        "rules": [_in_order(rule) for rule in rules_of(snapshot.rights)],
    }
    return _HEAD + yaml.dump(
        manifest, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100
    )


def _in_order(rule: PolicyRule) -> dict[str, list[str]]:
    built = msgspec.to_builtins(rule)
    order = ("apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs")
    return {key: list(built[key]) for key in order if key in built}


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes lists of words on one line, and all else on lines of its own."""

    def represent_mapping(
        self,
        tag: str,
        mapping: Any,
        flow_style: bool | None = None,  # noqa: ARG002 - the base class's signature
    ) -> yaml.MappingNode:
        return super().represent_mapping(tag, mapping, flow_style=False)
