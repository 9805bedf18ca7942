"""Room in each CustomResourceDefinition of a tenant for a mark of the platform.

etcd takes objects of 1.5 MiB. A tenant that filled a definition to the last byte left no room for
the condition by which Kubernetes' controllers do not wait for its kind. So each has an annotation
that the tenant cannot remove: for the condition the gateway takes it away.
"""

from collections.abc import Mapping

from lnamespace.model.names import LCLUSTER_KEYS

RESERVE = LCLUSTER_KEYS + "reserve"
RESERVED = 1024
"""Bytes of its value. Another value would be a conflict between two managers that apply."""
DEFINITION_ANNOTATIONS: Mapping[str, str] = {RESERVE: "." * RESERVED}
