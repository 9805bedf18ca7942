"""The fields of Kubernetes' own kinds that name something which is spelled differently upstream.

One rule is written for a field of a schema, by its path, and holds for every kind and version that
has the schema: a pod's specification stands in nine kinds. Fields that are not here are not
translated: they name objects of the same namespace, or nothing.

- :mod:`~lnamespace.translate.objects.fields.workloads`: pods and what makes them.
- :mod:`~lnamespace.translate.objects.fields.volumes`: volumes, claims, classes.
- :mod:`~lnamespace.translate.objects.fields.cluster`: everything else.
"""
