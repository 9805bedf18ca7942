"""Answer requests that are not only forwarded: writes, streams, and synthetic objects.

- :mod:`~lnamespace.gateway.objects.content`: limits of the number of Namespaces and definitions; no
  new objects in a terminating LCluster.
- :mod:`~lnamespace.gateway.objects.applies`: server-side applies of kinds to which the gateway adds
  fields.
- :mod:`~lnamespace.gateway.objects.definition_deletions`: deletions of definitions: of a
  collection, or as large as etcd takes.
- :mod:`~lnamespace.gateway.objects.deletion_turns`: few definitions of an LCluster wait for their
  objects to be deleted.
- :mod:`~lnamespace.gateway.objects.definition_pace`: no definition changes so often that nobody can
  list its kind.
- :mod:`~lnamespace.gateway.objects.definition_status`: the part of a definition's status that no
  tenant changes.
- :mod:`~lnamespace.gateway.objects.stored_versions`: rewrites all objects before a version leaves
  ``status.storedVersions``.
- :mod:`~lnamespace.gateway.objects.schema_quota`: limits of the size of schemas.
- :mod:`~lnamespace.gateway.objects.cluster_quota`: limits of webhooks, admission policies and
  ClusterRoleBindings.
- :mod:`~lnamespace.gateway.objects.requesters`: the requester of a certificate.
- :mod:`~lnamespace.gateway.objects.volumes`: PersistentVolumes that a provisioner created.
- :mod:`~lnamespace.gateway.objects.streams`: logs, exec, attach, port-forward and proxy, byte for
  byte.
- :mod:`~lnamespace.gateway.objects.synthetic`: nodes and other objects that exist in the gateway
  alone.
"""
