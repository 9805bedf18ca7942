"""The names, labels and choices that all objects of one instance share."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from lnamespace.access import cost_labels
from lnamespace.access.lcluster_content import ContentLimits, content_limits
from lnamespace.access.limit import lnamespace_limits
from lnamespace.kube.objects import MANAGED_BY
from lnamespace.kube.resources import Resource
from lnamespace.kube.state import ManagedMetadata
from lnamespace.model import lcluster
from lnamespace.model.lnamespace import KIND, PLURAL, VERSION
from lnamespace.model.names import Names
from lnamespace.settings import Settings, items


class SudoLayout(StrEnum):
    """The layout of the objects for sudo (:mod:`lnamespace.access.sudo`)."""

    GROUP = "group"
    SERVICE_ACCOUNT = "serviceaccount"


def lcluster_resource(names: Names) -> Resource:
    """Return the resource of an instance's LClusters."""
    return Resource(names.group, lcluster.VERSION, lcluster.KIND, lcluster.PLURAL)


def lnamespace_resource(names: Names) -> Resource:
    """Return the resource of an instance's LNamespaces, in the version that is stored."""
    return Resource(names.group, VERSION, KIND, PLURAL)


@dataclass(frozen=True)
class Conventions:
    """The names and labels that one instance gives to its objects.

    Parameters
    ----------
    users_role
        The ClusterRole that users have in their Namespace.
    counted
        Whether Namespaces are annotated with the account that they count to, for a limit.
    required_labels
        Keys that an LNamespace must have; they are copied to its Namespace.
    forbidden_labels
        Keys, or prefixes that end in a slash, that no Namespace may have.
    content_limits
        What each LCluster may have.
    """

    names: Names = field(default_factory=Names)
    users_role: str = "admin"
    counted: bool = False
    required_labels: tuple[str, ...] = ()
    forbidden_labels: tuple[str, ...] = ()
    sudo: SudoLayout = SudoLayout.GROUP
    content_limits: ContentLimits = field(default_factory=ContentLimits)

    @cached_property
    def managed_metadata(self) -> ManagedMetadata:
        """Return the labels and annotations that only this instance writes."""
        names = self.names
        return ManagedMetadata(
            manager=names.prefix,
            labels=(names.lnamespace_label, names.class_label, *cost_labels.cost_label_keys(names)),
            annotations=(
                names.owner_annotation,
                names.adopted_annotation,
                names.labels_annotation,
                names.person_annotation,
                names.lcluster_annotation,
                names.lcluster_emptied_annotation,
                *self._counting,
            ),
            match_labels={names.class_label: names.class_name},
        )

    @property
    def _counting(self) -> tuple[str, ...]:
        # Without a limit the annotation is not managed: one from before stays.
        return (self.names.requester_annotation,) if self.counted else ()

    @cached_property
    def api_version(self) -> str:
        """Return the apiVersion of LNamespaces, as owner references have it."""
        return f"{self.names.group}/{VERSION}"

    def labels(self, lnamespace: str = "") -> dict[str, str]:
        """Return the labels of an object of ``lnamespace``, or of none."""
        labels = {MANAGED_BY: self.names.prefix}
        if self.names.class_name:
            labels |= {self.names.class_label: self.names.class_name}
        return labels | {self.names.lnamespace_label: lnamespace} if lnamespace else labels


def conventions_of(settings: Settings) -> Conventions:
    """Return the conventions that the settings ask for."""
    names = Names(settings.api_group_suffix, settings.sudoers_group_format, settings.class_name)
    return Conventions(
        names,
        settings.users_role,
        sudo=SudoLayout(settings.sudo_layout),
        counted=lnamespace_limits(settings).any_limited,
        required_labels=items(settings.required_labels),
        forbidden_labels=items(settings.forbidden_labels),
        content_limits=content_limits(settings),
    )
