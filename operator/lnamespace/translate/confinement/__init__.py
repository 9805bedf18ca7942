"""Confine the kinds of objects that act on a whole cluster, and restore what a tenant wrote.

A StorageClass, a webhook or a FlowSchema of a tenant is an object of the platform's cluster, and
would act on everybody there. Going up, :func:`confine` and :func:`confine_patch` change such an
object so that it acts on its tenant only, or on nobody; coming down, :func:`restore` undoes it.

An object is confined after all its names are in upstream spelling, and restored before any is
brought back to tenant spelling.

- :mod:`~lnamespace.translate.confinement.rules`: rules about one field, and where they look.
- :mod:`~lnamespace.translate.confinement.kinds`: which rules a resource has.
- :mod:`~lnamespace.translate.confinement.admission`: webhooks and admission policies.
- :mod:`~lnamespace.translate.confinement.clients`: whom the API server asks for a webhook.
- :mod:`~lnamespace.translate.confinement.namespaces`: labels of Namespaces that have power.
- :mod:`~lnamespace.translate.confinement.volumes`: PersistentVolumes, claims and classes.
- :mod:`~lnamespace.translate.confinement.classes`: PriorityClasses.
- :mod:`~lnamespace.translate.confinement.certificates`: requests for certificates.
- :mod:`~lnamespace.translate.confinement.definitions`: CustomResourceDefinitions.
- :mod:`~lnamespace.translate.confinement.cel`: where expressions in CEL read names.
- :mod:`~lnamespace.translate.confinement.expressions`: CEL in the schemas of a tenant's own kinds.
- :mod:`~lnamespace.translate.confinement.policy_expressions`: CEL in admission policies.
- :mod:`~lnamespace.translate.confinement.operations`: JSON patches.
"""

from lnamespace.translate.confinement.kinds import (
    confine,
    confine_patch,
    confines,
    prefixes_items,
    restore,
)
from lnamespace.translate.confinement.operations import confine_operations
from lnamespace.translate.confinement.rules import Form

__all__ = [
    "Form",
    "confine",
    "confine_operations",
    "confine_patch",
    "confines",
    "prefixes_items",
    "restore",
]
