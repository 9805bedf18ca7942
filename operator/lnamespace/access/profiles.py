"""The guard rails around a namespace: what limits all who work in it, whatever their role is.

They have no owner. What is in a Namespace goes with it: were they the LNamespace's, the garbage
collector might take a NetworkPolicy away while the pods that it is for still run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.access.conventions import Conventions
from lnamespace.kube.objects import (
    DesiredObject,
    Key,
    Object,
    ObjectMeta,
    ObservedObject,
    desired_object,
)
from lnamespace.kube.resources import PROFILE_RESOURCES, Resource
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import PROFILE_OBJECT_NAME
from lnamespace.model.profile import DEFAULT_PROFILE


@dataclass(frozen=True)
class ResolvedProfile:
    """What a profile comes to: its specs in the API server's own form, and labels."""

    specs: Mapping[Resource, bytes] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProfileSet:
    """The profiles in force, by name.

    ``problem`` says why nothing is known of them; what should be is unknown then.
    """

    profiles: Mapping[str, ResolvedProfile] = field(default_factory=dict)
    problem: str = ""

    def resolve(self, lns: LNamespace, *, adopted: bool = False) -> ResolvedProfile | None:
        """The guard rails of an LNamespace; None: what they should be is not known.

        An ``adopted`` Namespace has those of a profile that is named. Whatever runs in it was made
        without them: the default profile's quota, network policy or Pod Security could end that.
        """
        if adopted and not lns.spec.profile:
            return ResolvedProfile()
        name = lns.spec.profile or (DEFAULT_PROFILE if DEFAULT_PROFILE in self.profiles else "")
        if self.problem:
            return None
        return self.profiles.get(name) if name else ResolvedProfile()

    def problem_of(self, lns: LNamespace, *, adopted: bool = False) -> str:
        """Why it is not known, in words; empty where it is."""
        if self.resolve(lns, adopted=adopted) is not None:
            return ""
        if self.problem:
            return f"The profiles cannot be used: {self.problem}"
        known = ", ".join(sorted(self.profiles)) or "none"
        return f'There is no profile "{lns.spec.profile}" (there are: {known}).'


DesiredLabels = dict[str, str | None]
"""Labels as they should be; None: there should be none of that key."""


def profile_objects(
    lns: LNamespace, guard: ResolvedProfile, conventions: Conventions
) -> tuple[DesiredObject, ...]:
    """The objects inside the Namespace."""
    return tuple(_rail(lns, kind, spec, conventions) for kind, spec in guard.specs.items())


def profile_refs(tenant: str) -> tuple[tuple[Resource, Key], ...]:
    """Where limits of this LNamespace may be."""
    return tuple((kind, (tenant, PROFILE_OBJECT_NAME)) for kind in PROFILE_RESOURCES)


def namespace_labels(
    lns: LNamespace,
    guard: ResolvedProfile | None,
    seen: ObservedObject | None,
    conventions: Conventions,
) -> DesiredLabels:
    """The labels of the Namespace that are not our own marks, given what it has.

    What a profile gave and gives no more goes. With no ``guard`` it is not known what the profile
    says: its labels stay as they are.
    """
    present = seen.labels if seen else {}
    former = _listed(seen, conventions)
    given = {key: present[key] for key in former if key in present}
    given = given if guard is None else dict(guard.labels)
    required = {k: v for k, v in lns.metadata.labels.items() if k in conventions.required_labels}
    kept = {key: value for key, value in given.items() if key not in conventions.required_labels}
    should = kept | required
    gone = {key for key in present if key in former or _is_forbidden(key, conventions)}
    return dict.fromkeys(gone) | should


def labels_annotation(should: DesiredLabels, conventions: Conventions) -> dict[str, str]:
    """Lists on the Namespace the labels that are there because of us, so that they can go again."""
    listed = sorted(key for key, value in should.items() if value is not None)
    return {conventions.names.labels_annotation: ",".join(listed)} if listed else {}


def _listed(seen: ObservedObject | None, conventions: Conventions) -> frozenset[str]:
    text = seen.annotations.get(conventions.names.labels_annotation, "") if seen else ""
    return frozenset(text.split(","))


def _is_forbidden(key: str, conventions: Conventions) -> bool:
    """Whether nobody may have the label; one that ends in a slash is a prefix of such."""
    rules = conventions.forbidden_labels
    return any(key == rule or (rule.endswith("/") and key.startswith(rule)) for rule in rules)


def _rail(lns: LNamespace, kind: Resource, spec: bytes, conventions: Conventions) -> DesiredObject:
    meta = ObjectMeta(
        name=PROFILE_OBJECT_NAME, namespace=lns.name, labels=conventions.labels(lns.name)
    )
    built = Object(meta, kind.api_version, kind.kind, spec=msgspec.Raw(spec))
    return desired_object(kind, built, conventions.managed_metadata)
