"""Confine labels and annotations of Namespaces that change what pods may do."""

from dataclasses import dataclass

from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.translate.names.allowances import POD_SECURITY_LEVELS
from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    Object,
    Path,
    RefusingRule,
    field_of,
    labels,
    metadata_map,
)

POD_SECURITY_PREFIX = "pod-security.kubernetes.io/"
ENFORCE = POD_SECURITY_PREFIX + "enforce"
ENFORCE_VERSION = POD_SECURITY_PREFIX + "enforce-version"
FORBIDDEN_LABELS = ("resource.kubernetes.io/admin-access",)
FORBIDDEN_ANNOTATIONS = (
    "scheduler.alpha.kubernetes.io/defaultTolerations",
    "scheduler.alpha.kubernetes.io/node-selector",
    "scheduler.alpha.kubernetes.io/tolerationsWhitelist",
)


@dataclass(frozen=True)
class PodSecurityRule:
    """The enforced level of Pod Security, which is never less strict than the platform's.

    The tenant's value is kept under a label of the gateway.
    """

    paths = tuple(("metadata", "labels", key) for key in (ENFORCE, ENFORCE_VERSION))

    def confine(self, subject: ConfinedBody) -> None:
        """Write the stricter of the tenant's and the platform's level, and the latest version."""
        complete = subject.form.complete
        found = labels(subject.body, make=complete)
        for key in (ENFORCE, ENFORCE_VERSION):
            if key in found:
                found[kept_as(key)] = found[key]
            if key in found or (
                complete and ("metadata", "labels", key) not in subject.owned_by_others
            ):
                found[key] = self._value(key, found, subject)

    def _value(self, key: str, found: Object, subject: ConfinedBody) -> str:
        if key == ENFORCE_VERSION:
            return "latest"
        return _stricter(found.get(key), subject.view.allowances.pod_security)

    def restore(self, subject: ConfinedBody) -> None:
        """Show the labels that the tenant wrote, and no others."""
        found = labels(subject.body)
        for key in (ENFORCE, ENFORCE_VERSION):
            found.pop(key, None)
            if kept_as(key) in found:
                found[key] = found.pop(kept_as(key))
            _disown(subject.body, key)


def kept_as(key: str) -> str:
    """Return the label in which the gateway keeps the tenant's value of a confined label."""
    return LCLUSTER_KEYS + key.replace("/", ".")


def _disown(body: Object, key: str) -> None:
    """Remove a label from the managed fields of managers that did not write it themselves."""
    metadata = body.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(entries, list):
        return
    entries = [each for each in entries if isinstance(each, dict)]
    for entry in entries:
        fields = _object(entry, "fieldsV1")
        members = _object(fields, "f:metadata")
        owned = _object(members, "f:labels")
        if f"f:{kept_as(key)}" in owned or owned.pop(f"f:{key}", None) is None:
            continue
        if owned.keys() <= {"."}:
            del members["f:labels"]
        if not members:
            del fields["f:metadata"]
    metadata["managedFields"] = [each for each in entries if each.get("fieldsV1") != {}]


def _object(holder: Object, key: str) -> Object:
    found = holder.get(key)
    return found if isinstance(found, dict) else {}


def _stricter(written: object, least: str) -> str:
    levels = POD_SECURITY_LEVELS
    if written not in levels:
        return least
    return str(max(written, least, key=lambda level: levels.index(str(level))))


@dataclass(frozen=True)
class ForbiddenKeys(RefusingRule):
    """The labels or annotations that admission plugins of the platform's API server act on."""

    group: str
    keys: tuple[str, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths of the keys."""
        return tuple(("metadata", self.group, key) for key in self.keys)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse the keys."""
        found = metadata_map(subject.body, self.group)
        for key in self.keys:
            if found.get(key) is not None:
                raise subject.refuse(
                    field_of(("metadata", self.group, key)), "it belongs to the platform"
                )


NAMESPACE_FINALIZER = "kubernetes"
"""The finalizer with which the namespace controller deletes a Namespace's objects first."""


@dataclass(frozen=True)
class KeptFinalizer(RefusingRule):
    """The finalizer of the namespace controller, which a tenant cannot remove.

    A Namespace that is deleted without it leaves its objects behind: its pods would run on, in no
    Namespace and not billed.
    """

    paths = (("spec", "finalizers"),)

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse a Namespace without the finalizer."""
        spec = subject.body.get("spec")
        finalizers = spec.get("finalizers") if isinstance(spec, dict) else None
        if not isinstance(finalizers, list) or NAMESPACE_FINALIZER not in finalizers:
            why = f"the finalizer {NAMESPACE_FINALIZER} is removed by the namespace controller"
            raise subject.refuse("spec.finalizers", why)
