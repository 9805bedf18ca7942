"""Room in each CustomResourceDefinition of a tenant for a mark of the platform.

etcd takes objects of 1.5 MiB. A tenant that filled a definition to the last byte left no room for
the condition that makes Kubernetes' controllers ignore its kind. So each definition has an
annotation that the tenant cannot remove, and that the gateway replaces by the condition.
"""

from collections.abc import Mapping

from lnamespace.model.names import LCLUSTER_KEYS

RESERVE = LCLUSTER_KEYS + "reserve"
RESERVED = 1024
"""Bytes of its value. Another value would be a conflict between two managers that apply."""
DEFINITION_ANNOTATIONS: Mapping[str, str] = {RESERVE: "." * RESERVED}
