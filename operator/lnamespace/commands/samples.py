"""``docs/resource-samples``: an LNamespace, and the objects that give its sudoers their power.

The code that makes the real objects makes the samples, so that the documents show what is applied.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from lnamespace.access.conventions import Conventions
from lnamespace.access.entries import active_entries
from lnamespace.access.impersonator import self_impersonator
from lnamespace.access.lnamespace import editor_objects
from lnamespace.access.sudo import sudo_objects
from lnamespace.errors import SettingsError
from lnamespace.kube.state import DesiredObject
from lnamespace.model import v1alpha1
from lnamespace.model.billing import Billing
from lnamespace.model.conversion import convert_manifest
from lnamespace.model.crd import to_yaml
from lnamespace.model.lnamespace import KIND, VERSION, LNamespace, Metadata, Spec
from lnamespace.model.names import Names
from lnamespace.model.subject import Member, SubjectKind

Json = dict[str, Any]

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_ALICE = Member("alice@example.com")
_SPEC = Spec(
    users=(_ALICE, Member("payments@example.com", SubjectKind.GROUP), Member("dora@example.com")),
    managers=(_ALICE, Member("bob@example.com")),
    sudoers=(_ALICE, Member("carol@example.com")),
    billing=Billing(
        cost_center="2040",
        owner="bob@example.com",
        team="payments",
        environment="production",
        labels={"application": "checkout"},
    ),
)
_CONTRACTOR = Member("dora@example.com", expires_at=datetime(2099, 12, 31, tzinfo=UTC))
_SAMPLE = LNamespace(Metadata("payments", uid="00000000-0000-0000-0000-000000000000"), _SPEC)


def sample_manifests(conventions: Conventions) -> Mapping[str, Json]:
    """Return the manifests by the names of their files."""
    return dict((*_lnamespaces(conventions.names), *_objects(conventions)))


def write(folder: Path, conventions: Conventions) -> None:
    """Write all samples into a folder, over files of the same names.

    Raises
    ------
    SettingsError
        A file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, manifest in sample_manifests(conventions).items():
            (folder / name).write_text(to_yaml(manifest), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{folder}: cannot be written: {error.strerror}") from error


def _lnamespaces(names: Names) -> Iterator[tuple[str, Json]]:
    """Yield one LNamespace in each version; v1alpha1 has no ``expiresAt``, and its sample none."""
    ending = msgspec.structs.replace(_SPEC, users=(*_SPEC.users[:-1], _CONTRACTOR))
    yield "lnamespace.yaml", _manifest(ending, names)
    older = convert_manifest(_manifest(_SPEC, names), v1alpha1.VERSION, names)
    yield "lnamespace-v1alpha1.yaml", older


def _manifest(spec: Spec, names: Names) -> Json:
    return {
        "apiVersion": f"{names.group}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": _SAMPLE.name},
        "spec": msgspec.to_builtins(spec),
    }


def _objects(conventions: Conventions) -> Iterator[tuple[str, Json]]:
    in_force = active_entries(_SPEC, _NOW)
    person = self_impersonator(_ALICE.subject, {_SAMPLE.name: _SAMPLE.uid}, conventions)
    role, binding, cluster_admin = sudo_objects(_SAMPLE, in_force, conventions)
    yield from _pair("self-impersonator", person)
    yield from _pair("sudoer-impersonator", (role, binding))
    yield "sudoer-group-cluster-admin-role-binding.yaml", cluster_admin.object.manifest()
    yield from _pair("sudoer-lnamespace-edit", editor_objects(_SAMPLE, in_force, conventions))


def _pair(name: str, objects: tuple[DesiredObject, ...]) -> Iterator[tuple[str, Json]]:
    role, binding = objects
    yield f"{name}-cluster-role.yaml", role.object.manifest()
    yield f"{name}-cluster-role-binding.yaml", binding.object.manifest()
