"""The names of the objects of an LNamespace.

An object is identified by its name, which nobody can edit; labels only select. If the suffix of
the API group is not the default, every cluster-wide name has it, so that two instances on one
cluster share no object.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX, Subject, SubjectKind

DEFAULT_SUFFIX = "loblaw.digital"
USERS_BINDING = "lnamespace-users"
SUDOERS_BINDING = "lnamespace-sudoers"
ACCOUNT_BINDING = "lnamespace-sudo-account"
NAMESPACE_BINDINGS = (USERS_BINDING, SUDOERS_BINDING, ACCOUNT_BINDING)
"""The names of all RoleBindings of ours in the Namespace of an LNamespace."""

CLUSTER_ACCOUNT_BINDING = "lcluster:account"
"""The RoleBinding of a tenant's account in each of its namespaces; the gateway hides it."""
SHARE_QUOTA = "lcluster"
"""The ResourceQuota with a namespace's share of the totals of an LCluster."""
LCLUSTER_KEYS = "lcluster.tenancy.loblaw.digital/"
"""The beginning of the labels and annotations with which controller and gateway mark the objects of
LClusters, in every instance: no two LClusters of a cluster have one name. Tenants neither see nor
write them."""

PROFILE_OBJECT_NAME = "lnamespace"
"""The name of the ResourceQuota, LimitRange and NetworkPolicy of a profile."""

DIGEST_LENGTH = 52

_SUDO_NAMESPACE = "lnamespace-sudo"
CLUSTERS_NAMESPACE = "lnamespace-clusters"
"""The beginning of the name of the namespace of the accounts that stand for tenants."""
_SUFFIX_HASH_LENGTH = 10

_EDITOR = "editor"
_CLUSTER_EDITOR = "cluster-editor"
_CLUSTER_RESOURCES = "cluster-resources"
_SUDOER = "sudoer-impersonator"
_SELF = "self-impersonator"

NAME_PARTS = (_EDITOR, _SUDOER, _CLUSTER_EDITOR, _CLUSTER_RESOURCES)
"""The last parts of the names of the cluster-wide objects of LNamespaces and LClusters.

No profile may be called so: the chart names the ClusterRole of a profile PREFIX:profile:NAME, and
an LNamespace called "profile" took that of profile "editor" for its own.
"""


@dataclass(frozen=True)
class Names:
    """The names that one instance uses.

    Parameters
    ----------
    suffix
        The suffix of its API group.
    sudoers_group_format
        The name of a sudoers group, with ``{name}`` for the LNamespace; empty: the default.
    class_name
        The class of LNamespaces that one of several controllers is for.
    """

    suffix: str = DEFAULT_SUFFIX
    sudoers_group_format: str = ""
    class_name: str = ""

    @cached_property
    def group(self) -> str:
        """Return the API group."""
        return f"tenancy.{self.suffix}"

    @cached_property
    def prefix(self) -> str:
        """Return the first part of cluster-wide names, also the value of the managed-by label."""
        return "lnamespace" if self.suffix == DEFAULT_SUFFIX else f"lnamespace.{self.suffix}"

    @cached_property
    def group_format(self) -> str:
        """Return the format of the names of sudoers groups.

        By default it contains the suffix: a sudoer of X in one instance must not be in the sudoers
        group of X in another.
        """
        instance = "" if self.suffix == DEFAULT_SUFFIX else f".{self.suffix}"
        return self.sudoers_group_format or f"{{name}}-sudoers{instance}"

    @cached_property
    def owner_annotation(self) -> str:
        """Return the annotation with the UID of a Namespace's LNamespace; it also adopts one."""
        return f"{self.group}/owner-uid"

    @cached_property
    def adopted_annotation(self) -> str:
        """Return the annotation of a Namespace that existed before its LNamespace."""
        return f"{self.group}/adopted"

    @cached_property
    def requester_annotation(self) -> str:
        """Return the annotation with the account whose limit a Namespace counts to."""
        return f"{self.group}/requester"

    @cached_property
    def lnamespace_label(self) -> str:
        """Return the label with the LNamespace of an object, for people who search."""
        return f"{self.group}/lnamespace"

    @cached_property
    def lcluster_label(self) -> str:
        """Return the label with the LCluster of an object upstream. No tenant sees or writes it."""
        return f"{self.group}/lcluster"

    @cached_property
    def lcluster_annotation(self) -> str:
        """Return the annotation of a tenant's Namespace with the UID of its LCluster."""
        return f"{LCLUSTER_KEYS}uid"

    @property
    def share_annotation(self) -> str:
        """Return the annotation of a ResourceQuota with the generation of its share."""
        return f"{LCLUSTER_KEYS}share"

    @cached_property
    def lcluster_emptied_annotation(self) -> str:
        """Return the annotation of a tenant's Namespace in which nobody has to work any more."""
        return f"{LCLUSTER_KEYS}emptied"

    @cached_property
    def lcluster_finalizer(self) -> str:
        """Return the finalizer that keeps an LCluster until everything of its tenant is gone."""
        return f"{self.group}/lcluster"

    @cached_property
    def class_label(self) -> str:
        """Return the label with the class of an object; without a class there is none."""
        return f"{self.group}/class"

    @cached_property
    def person_annotation(self) -> str:
        """Return the annotation with the user name of a self-impersonator's person."""
        return f"{self.group}/person"

    @cached_property
    def labels_annotation(self) -> str:
        """Return the annotation that lists the labels a Namespace got from its profile."""
        return f"{self.group}/labels"

    def sudoers_group(self, lnamespace: str) -> str:
        """Return the group that sudoers of ``lnamespace`` impersonate."""
        return self.group_format.replace("{name}", lnamespace)

    @cached_property
    def sudo_namespace(self) -> str:
        """Return the namespace of the ServiceAccounts that sudoers impersonate.

        Its name is reserved, so it is no tenant's. In an instance with another suffix it has a
        hash of the suffix, which may be too long for the name of a namespace and has dots.
        """
        return self._own_namespace(_SUDO_NAMESPACE)

    def sudo_account(self, lnamespace: str) -> Subject:
        """Return the ServiceAccount that sudoers of ``lnamespace`` impersonate in its layout."""
        return Subject(SubjectKind.SERVICE_ACCOUNT, lnamespace, self.sudo_namespace)

    @cached_property
    def clusters_namespace(self) -> str:
        """Return the namespace of the accounts as which the gateway acts for tenants."""
        return self._own_namespace(CLUSTERS_NAMESPACE)

    def cluster_account(self, lcluster: str) -> Subject:
        """Return the ServiceAccount as which a tenant acts upstream; no such object exists."""
        return Subject(SubjectKind.SERVICE_ACCOUNT, lcluster, self.clusters_namespace)

    def _own_namespace(self, name: str) -> str:
        if self.suffix == DEFAULT_SUFFIX:
            return name
        hashed = hashlib.sha256(self.suffix.encode()).hexdigest()
        return f"{name}-{hashed[:_SUFFIX_HASH_LENGTH]}"

    def is_sudo_account(self, username: str) -> bool:
        """Return whether a user name is an LNamespace's sudo account, of any instance.

        No tenant can have a namespace whose name begins so.
        """
        ours = f"{SERVICE_ACCOUNT_PREFIX}{_SUDO_NAMESPACE}"
        return username.startswith((f"{ours}:", f"{ours}-"))

    def editor(self, lnamespace: str) -> str:
        """Return the name of the ClusterRole and binding that allow editing one LNamespace."""
        return f"{self.prefix}:{lnamespace}:{_EDITOR}"

    def cluster_editor(self, lcluster: str) -> str:
        """Return the name of the ClusterRole and binding that allow editing one LCluster."""
        return f"{self.prefix}:{lcluster}:{_CLUSTER_EDITOR}"

    def cluster_resources(self, lcluster: str) -> str:
        """Return the name of the ClusterRole and binding for a tenant's own API groups."""
        return f"{self.prefix}:{lcluster}:{_CLUSTER_RESOURCES}"

    def sudoer(self, lnamespace: str) -> str:
        """Return the name of the role and binding that allow impersonating its sudo subject."""
        return f"{self.prefix}:{lnamespace}:{_SUDOER}"

    def self_impersonator(self, person: str) -> str:
        """Return the name of a person's role and binding; ``person`` is a digest of them.

        It contains the class, so that only the controller of that class writes these objects.
        """
        return f"{self.prefix}:{self._self}:{person}"

    def lnamespace_of(self, name: str) -> str | None:
        """Return the LNamespace that a cluster-wide name belongs to; None if to none."""
        match name.split(":"):
            case [self.prefix, lnamespace, part] if part in (_EDITOR, _SUDOER):
                return lnamespace
        return None

    def lcluster_of(self, name: str) -> str | None:
        """Return the LCluster that a cluster-wide name belongs to; None if to none."""
        match name.split(":"):
            case [self.prefix, lcluster, part] if part in (_CLUSTER_EDITOR, _CLUSTER_RESOURCES):
                return lcluster
        return None

    def person_of(self, name: str) -> str | None:
        """Return the person's digest in the name of a self-impersonator, or None."""
        match name.split(":"):
            case [self.prefix, self._self, person] if len(person) == DIGEST_LENGTH:
                return person
        return None

    @cached_property
    def _self(self) -> str:
        # No tenant's name has a dot.
        return f"{_SELF}.{self.class_name}" if self.class_name else _SELF


def subject_digest(subject: Subject) -> str:
    """Return 52 characters of base32 that identify a subject and fit into any name.

    This is the whole SHA-256 of kind, namespace and name, each with its length before it: nobody
    can construct two subjects with the same digest.
    """
    parts = (subject.kind.value, subject.namespace, subject.name)
    data = b"".join(len(p.encode()).to_bytes(4) + p.encode() for p in parts)
    return base64.b32encode(hashlib.sha256(data).digest()).decode().rstrip("=").lower()
