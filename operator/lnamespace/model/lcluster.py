"""The types of the LCluster API, version ``v1beta1``.

An LCluster is a cluster of a tenant's own, which a gateway shows in the platform's cluster: the
tenant's namespace ``prod`` is the Namespace ``acme-prod``. The name of an LCluster has no dash, so
the names of one tenant never begin with those of another. Namespaces that an LCluster leaves behind
(``deletionPolicy: Retain``) hold its name.
"""

import re
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from lnamespace.model.lnamespace import CommonObject, CommonSpec, CommonStatus, decode_object
from lnamespace.model.quantities import PATTERN

KIND = "LCluster"
PLURAL = "lclusters"
SHORT_NAME = "lc"
VERSION = "v1beta1"

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""The namespaces that every tenant's cluster has, in the tenant's spelling."""

INFO_NAMESPACE = "kube-public"
INFO = "lcluster-info"
"""The ConfigMap in that namespace that says who pays for the LCluster, and what it cost."""

NAME_PATTERN = r"[a-z][a-z0-9]{1,19}"

RESERVED_TENANTS = (
    "cluster",
    "default",
    "istio",
    "kube",
    "kubeadm",
    "kubernetes",
    "lcluster",
    "lnamespace",
    "mine",
    "node",
    "openshift",
    "pvc",
    "system",
)
"""Names that are the beginning of names that Kubernetes or platforms give: ``cluster-admin``,
``kube-system``, ``pvc-UID``, ``system-node-critical``. ``mine`` is an endpoint of the gateway."""


class Suspension(StrEnum):
    """How much of a tenant's cluster is out of use."""

    NONE = ""
    READ_ONLY = "ReadOnly"
    CLOSED = "Closed"


REVOKED_MAX_ITEMS = 256

CredentialId = Annotated[
    str, Meta(max_length=75, pattern=r"^(X509SHA256=[0-9a-f]{64}|JTI=[0-9a-f-]{36})$")
]
"""What the API server calls a credential: the hash of a certificate, or the id of a token."""


class LClusterLimits(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How much one LCluster may have, where it is not what the platform allows each."""

    namespaces: Annotated[
        int,
        Meta(
            ge=0,
            description="How many namespaces the LCluster may have, the four of every cluster "
            "among them. 0: as many as the platform allows each LCluster.",
        ),
    ] = 0
    custom_resource_definitions: Annotated[
        int,
        Meta(
            ge=0,
            description="How many CustomResourceDefinitions the LCluster may have. 0: as many as "
            "the platform allows each LCluster.",
        ),
    ] = 0
    admission: Annotated[
        int,
        Meta(
            ge=0,
            description="How many webhooks, admission policies, bindings of policies, and "
            "match conditions the LCluster may have together. 0: as many as the platform "
            "allows each LCluster.",
        ),
    ] = 0
    cluster_role_bindings: Annotated[
        int,
        Meta(
            ge=0,
            description="How many ClusterRoleBindings the LCluster may have; one counts one more "
            "for each 16 subjects. 0: as many as the platform allows each LCluster.",
        ),
    ] = 0


QUOTA_MAX_RESOURCES = 64

Total = Annotated[str, Meta(max_length=32, pattern=PATTERN)]
"""A quantity of Kubernetes."""


class LClusterSpec(CommonSpec, frozen=True, rename="camel", omit_defaults=True):
    """What the LCluster should be."""

    suspend: Annotated[
        Suspension,
        Meta(
            description="ReadOnly: people and programs may read and may not write. Closed: they "
            "may do nothing. What runs goes on running. Empty: not suspended."
        ),
    ] = Suspension.NONE
    revoked_credentials: Annotated[
        tuple[CredentialId, ...],
        Meta(
            max_length=REVOKED_MAX_ITEMS,
            description="Ids of client certificates and ServiceAccount tokens that are no login to "
            "this LCluster any more, as `kubectl auth whoami -o yaml` and the gateway's audit log "
            "have them under authentication.kubernetes.io/credential-id.",
        ),
    ] = ()
    limits: Annotated[
        LClusterLimits,
        Meta(description="What administrators of LClusters allow this one, more or less."),
    ] = LClusterLimits()
    quota: Annotated[
        dict[str, Total],
        Meta(
            max_length=QUOTA_MAX_RESOURCES,
            description="How much all namespaces of the LCluster may have together, in the words "
            "of a ResourceQuota: pods, requests.cpu, requests.storage, count/secrets. Names of "
            "classes and API groups are those of the platform. Only administrators of LClusters "
            "may change it.",
        ),
    ] = msgspec.field(default_factory=dict)


class ChargedNamespace(msgspec.Struct, frozen=True, rename="camel"):
    """A namespace of the tenant that the ledger knows of."""

    name: Annotated[str, Meta(description="The name of the Namespace upstream.")]
    uid: Annotated[str, Meta(description="The UID of the Namespace.")]
    created: Annotated[str, Meta(description="When the Namespace was created.")] = ""


class NamespaceShare(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What one namespace of the tenant may have of the totals of ``spec.quota``."""

    name: Annotated[str, Meta(description="The name of the Namespace upstream.")]
    limits: Annotated[
        dict[str, str], Meta(description="What its ResourceQuota `lcluster` is to say.")
    ] = {}
    returning: Annotated[
        dict[str, str],
        Meta(
            description="What it may have until its ResourceQuota is known to have the lower "
            "limit, and nobody else may have."
        ),
    ] = {}
    generation: Annotated[
        int, Meta(description="How often a limit was lowered; its ResourceQuota says it too.")
    ] = 0


class LClusterStatus(CommonStatus, frozen=True, rename="camel"):
    """What the LCluster is, as the controller last saw it."""

    address: Annotated[
        str, Meta(description="The URL of the tenant's API server, if the gateway has one.")
    ] = ""
    ca_bundle: Annotated[
        str,
        Meta(
            description="The CAs of the API server's certificate, PEM in base64; empty if clients "
            "trust it already."
        ),
    ] = ""
    namespaces: Annotated[int, Meta(description="How many namespaces the tenant has.")] = 0
    charged: Annotated[
        tuple[ChargedNamespace, ...],
        Meta(description="The namespaces that the ledger knows the charge of."),
    ] = ()
    shares: Annotated[
        tuple[NamespaceShare, ...],
        Meta(description="How the totals of spec.quota are divided among the namespaces."),
    ] = ()


class LCluster(CommonObject, frozen=True, rename="camel"):
    """A tenant's cluster, with who may do what in it and who pays for it."""

    spec: LClusterSpec = LClusterSpec()
    status: LClusterStatus = LClusterStatus()

    @property
    def prefix(self) -> str:
        """Return the beginning of the names of the tenant's objects upstream."""
        return f"{self.name}-"

    @property
    def system_namespaces(self) -> tuple[str, ...]:
        """Return the names upstream of the namespaces that the cluster always has."""
        return tuple(self.prefix + name for name in SYSTEM_NAMESPACES)


_decoder = msgspec.json.Decoder(LCluster)


def decode_lcluster(raw: bytes | msgspec.Raw) -> LCluster:
    """Read an LCluster from JSON; raises ModelError."""
    return decode_object(_decoder, raw)


def tenant_name_problem(name: str) -> str | None:
    """Return why no LCluster may have this name, or None."""
    if not re.fullmatch(NAME_PATTERN, name):
        return "must be 2 to 20 lower case letters and digits, beginning with a letter"
    return f'"{name}" is reserved' if name in RESERVED_TENANTS else None


def tenant_of_name(name: str) -> str:
    """Return the name of the LCluster that a name upstream would belong to; empty if to none."""
    tenant, dash, _ = name.partition("-")
    return tenant if dash and re.fullmatch(NAME_PATTERN, tenant) else ""
