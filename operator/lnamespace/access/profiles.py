"""Build the objects and labels that a profile puts into a Namespace.

A profile limits everybody who works in the Namespace, whatever their role. Its objects have no
owner reference: the garbage collector could delete a NetworkPolicy while pods still run. They are
deleted with the Namespace.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import Object, ObjectMeta, ObjectRef
from lnamespace.kube.resources import PROFILE_RESOURCES, Resource
from lnamespace.kube.state import DesiredObject, ObservedObject, desired_object
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import PROFILE_OBJECT_NAME
from lnamespace.model.profile import DEFAULT_PROFILE


@dataclass(frozen=True)
class ResolvedProfile:
    """A profile with its specs as the API server writes them, and the labels that it gives."""

    specs: Mapping[Resource, bytes] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProfileSet:
    """The profiles in force, by name; with a ``problem`` none of them is known."""

    profiles: Mapping[str, ResolvedProfile] = field(default_factory=dict)
    problem: str = ""

    def resolve(self, lns: LNamespace, *, adopted: bool = False) -> ResolvedProfile | None:
        """Return the profile of an LNamespace; None if it is not known.

        The default profile does not apply to an ``adopted`` Namespace: its quota, network policy
        or Pod Security labels could break what runs there already.
        """
        if adopted and not lns.spec.profile:
            return ResolvedProfile()
        name = lns.spec.profile or (DEFAULT_PROFILE if DEFAULT_PROFILE in self.profiles else "")
        if self.problem:
            return None
        return self.profiles.get(name) if name else ResolvedProfile()

    def problem_of(self, lns: LNamespace, *, adopted: bool = False) -> str:
        """Return why the profile of an LNamespace is not known; empty if it is."""
        if self.resolve(lns, adopted=adopted) is not None:
            return ""
        if self.problem:
            return f"The profiles cannot be used: {self.problem}"
        known = ", ".join(sorted(self.profiles)) or "none"
        return f'There is no profile "{lns.spec.profile}" (there are: {known}).'


DesiredLabels = dict[str, str | None]
"""The desired value of each label; None removes the label."""


def profile_objects(
    lns: LNamespace, profile: ResolvedProfile, conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """Return the desired ResourceQuota, LimitRange and NetworkPolicy."""
    specs = profile.specs.items()
    return tuple(_profile_object(lns, kind, spec, conventions) for kind, spec in specs)


def profile_refs(lnamespace: str) -> tuple[ObjectRef, ...]:
    """Return where profile objects of an LNamespace may be."""
    return tuple((kind, (lnamespace, PROFILE_OBJECT_NAME)) for kind in PROFILE_RESOURCES)


def namespace_labels(
    lns: LNamespace,
    profile: ResolvedProfile | None,
    observed: ObservedObject | None,
    conventions: Conventions,
) -> DesiredLabels:
    """Return the labels that the profile and the required labels put on the Namespace.

    A label that an earlier profile gave is removed. While the profile is not known (None), the
    labels that it gave stay as they are.
    """
    present = observed.labels if observed else {}
    before = _listed(observed, conventions)
    given = {key: present[key] for key in before if key in present}
    given = given if profile is None else dict(profile.labels)
    required = {k: v for k, v in lns.metadata.labels.items() if k in conventions.required_labels}
    kept = {key: value for key, value in given.items() if key not in conventions.required_labels}
    removed = {key for key in present if key in before or _is_forbidden(key, conventions)}
    return dict.fromkeys(removed) | kept | required


def labels_annotation(labels: DesiredLabels, conventions: Conventions) -> dict[str, str]:
    """Return the annotation that lists the labels given, so that they can be removed later."""
    listed = sorted(key for key, value in labels.items() if value is not None)
    return {conventions.names.labels_annotation: ",".join(listed)} if listed else {}


def _listed(observed: ObservedObject | None, conventions: Conventions) -> frozenset[str]:
    annotations = observed.annotations if observed else {}
    text = annotations.get(conventions.names.labels_annotation, "")
    return frozenset(text.split(","))


def _is_forbidden(key: str, conventions: Conventions) -> bool:
    """Return whether no Namespace may have the label; a rule that ends in a slash is a prefix."""
    rules = conventions.forbidden_labels
    return any(key == rule or (rule.endswith("/") and key.startswith(rule)) for rule in rules)


def _profile_object(
    lns: LNamespace, kind: Resource, spec: bytes, conventions: Conventions
) -> DesiredObject:
    meta = ObjectMeta(
        name=PROFILE_OBJECT_NAME, namespace=lns.name, labels=conventions.labels(lns.name)
    )
    built = Object(meta, kind.api_version, kind.kind, spec=msgspec.Raw(spec))
    return desired_object(kind, built, conventions.managed_metadata)
