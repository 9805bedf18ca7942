"""The guard rails around a namespace: what limits all who work in it, whatever their role is.

They have no owner. What is in a Namespace goes with it: were they the LNamespace's, the garbage
collector might take a NetworkPolicy away while the pods that it is for still run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from lnamespace.access.layout import Layout
from lnamespace.kube.objects import Key, Object, ObjectMeta, Seen, Wanted, wanted
from lnamespace.kube.resources import GUARD_RAILS, Resource
from lnamespace.model.lnamespace import LNamespace
from lnamespace.model.names import RAILS_NAME
from lnamespace.model.profile import DEFAULT_PROFILE


@dataclass(frozen=True)
class Guard:
    """What a profile comes to: its specs in the API server's own form, and labels."""

    specs: Mapping[Resource, bytes] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Guards:
    """The profiles in force, by name.

    ``problem`` says why nothing is known of them; what should be is unknown then.
    """

    known: Mapping[str, Guard] = field(default_factory=dict)
    problem: str = ""

    def of(self, lns: LNamespace, *, adopted: bool = False) -> Guard | None:
        """The guard rails of an LNamespace; None: what they should be is not known.

        An ``adopted`` Namespace has those of a profile that is named. Whatever runs in it was made
        without them: the default profile's quota, network policy or Pod Security could end that.
        """
        if adopted and not lns.spec.profile:
            return Guard()
        name = lns.spec.profile or (DEFAULT_PROFILE if DEFAULT_PROFILE in self.known else "")
        if self.problem:
            return None
        return self.known.get(name) if name else Guard()

    def trouble(self, lns: LNamespace, *, adopted: bool = False) -> str:
        """Why it is not known, in words; empty where it is."""
        if self.of(lns, adopted=adopted) is not None:
            return ""
        if self.problem:
            return f"The profiles cannot be used: {self.problem}"
        known = ", ".join(sorted(self.known)) or "none"
        return f'There is no profile "{lns.spec.profile}" (there are: {known}).'


Labels = dict[str, str | None]
"""Labels as they should be; None: there should be none of that key."""


def rails(lns: LNamespace, guard: Guard, layout: Layout) -> tuple[Wanted, ...]:
    """The objects inside the Namespace."""
    return tuple(_rail(lns, kind, spec, layout) for kind, spec in guard.specs.items())


def places(tenant: str) -> tuple[tuple[Resource, Key], ...]:
    """Where limits of this LNamespace may be."""
    return tuple((kind, (tenant, RAILS_NAME)) for kind in GUARD_RAILS)


def labels(lns: LNamespace, guard: Guard | None, seen: Seen | None, layout: Layout) -> Labels:
    """The labels of the Namespace that are not our own marks, given what it has.

    What a profile gave and gives no more goes. With no ``guard`` it is not known what the profile
    says: its labels stay as they are.
    """
    present = seen.labels if seen else {}
    former = _listed(seen, layout)
    given = {key: present[key] for key in former if key in present}
    given = given if guard is None else dict(guard.labels)
    required = {k: v for k, v in lns.metadata.labels.items() if k in layout.required_labels}
    kept = {key: value for key, value in given.items() if key not in layout.required_labels}
    should = kept | required
    gone = {key for key in present if key in former or _is_forbidden(key, layout)}
    return dict.fromkeys(gone) | should


def annotation(should: Labels, layout: Layout) -> dict[str, str]:
    """Lists on the Namespace the labels that are there because of us, so that they can go again."""
    listed = sorted(key for key, value in should.items() if value is not None)
    return {layout.names.labels_annotation: ",".join(listed)} if listed else {}


def _listed(seen: Seen | None, layout: Layout) -> frozenset[str]:
    text = seen.annotations.get(layout.names.labels_annotation, "") if seen else ""
    return frozenset(text.split(","))


def _is_forbidden(key: str, layout: Layout) -> bool:
    """Whether nobody may have the label; one that ends in a slash is a prefix of such."""
    rules = layout.forbidden_labels
    return any(key == rule or (rule.endswith("/") and key.startswith(rule)) for rule in rules)


def _rail(lns: LNamespace, kind: Resource, spec: bytes, layout: Layout) -> Wanted:
    meta = ObjectMeta(name=RAILS_NAME, namespace=lns.name, labels=layout.labels(lns.name))
    built = Object(meta, kind.api_version, kind.kind, spec=msgspec.Raw(spec))
    return wanted(kind, built, layout.marks)
