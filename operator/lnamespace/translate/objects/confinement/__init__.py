"""Confine objects of kinds that act on a whole cluster, and restore what the tenant wrote.

A StorageClass, a webhook or a FlowSchema of a tenant is an object of the platform's cluster, and
would act on everybody there. Going up, :func:`confine` changes such an object so
that it acts on its tenant only, or on nobody; coming down, :func:`restore` undoes it.

An object is confined after all its names are in upstream spelling, and restored before any is
brought back to tenant spelling.

- :mod:`~lnamespace.translate.objects.confinement.rules`: rules about one field.
- :mod:`~lnamespace.translate.objects.confinement.originals`: the tenant's values, in annotations.
- :mod:`~lnamespace.translate.objects.confinement.kinds`: the rules of each resource.
- :mod:`~lnamespace.translate.objects.confinement.admission`: webhooks and admission policies.
- :mod:`~lnamespace.translate.objects.confinement.admission_sizes`: what these cost others.
- :mod:`~lnamespace.translate.objects.confinement.conditions`: the match conditions of these.
- :mod:`~lnamespace.translate.objects.confinement.clients`: the ``clientConfig`` of webhooks.
- :mod:`~lnamespace.translate.objects.confinement.namespaces`: labels of Namespaces that have power.
- :mod:`~lnamespace.translate.objects.confinement.volumes`: PersistentVolumes, claims and classes.
- :mod:`~lnamespace.translate.objects.confinement.classes`: PriorityClasses.
- :mod:`~lnamespace.translate.objects.confinement.device_slices`: ResourceSlices.
- :mod:`~lnamespace.translate.objects.confinement.certificates`: requests for certificates.
- :mod:`~lnamespace.translate.objects.confinement.definitions`: CustomResourceDefinitions.
- :mod:`~lnamespace.translate.objects.confinement.definition_lists`: what multiplies in discovery.
- :mod:`~lnamespace.translate.objects.confinement.printer_columns`: what ``kubectl get`` costs.
- :mod:`~lnamespace.translate.objects.confinement.schema_defaults`: what defaults add to objects.
- :mod:`~lnamespace.translate.objects.confinement.schema_sizes`: what schemas take of memory.
- :mod:`~lnamespace.translate.objects.confinement.schema_texts`: what OpenAPI documents cannot have.
- :mod:`~lnamespace.translate.objects.confinement.embedded_objects`: where a value is an
  object of its own.
- :mod:`~lnamespace.translate.objects.confinement.cel`: where expressions in CEL read names.
- :mod:`~lnamespace.translate.objects.confinement.expressions`: CEL in the schemas of a
  tenant's own kinds.
- :mod:`~lnamespace.translate.objects.confinement.policy_expressions`: CEL in admission policies.
- :mod:`~lnamespace.translate.objects.confinement.operations`: JSON patches.
- :mod:`~lnamespace.translate.objects.confinement.ownership`: who owns fields of an apply that the
  gateway adds.
"""

from lnamespace.translate.objects.confinement.kinds import (
    confine,
    confines,
    prefixes_items,
    restore,
)
from lnamespace.translate.objects.confinement.operations import confine_operations
from lnamespace.translate.objects.confinement.rules import Form

__all__ = ["Form", "confine", "confine_operations", "confines", "prefixes_items", "restore"]
