"""Answer requests that are not only forwarded: writes, streams, and synthetic objects.

- :mod:`~lnamespace.gateway.objects.content`: how many objects an LCluster may have, and until when.
- :mod:`~lnamespace.gateway.objects.applies`: server-side applies of kinds to which the gateway
  adds fields.
- :mod:`~lnamespace.gateway.objects.definition_deletions`: deletions of definitions, of a collection
  or without room.
- :mod:`~lnamespace.gateway.objects.definition_status`: what stays in the status of a definition.
- :mod:`~lnamespace.gateway.objects.stored_versions`: versions that leave it, after all objects were
  written again.
- :mod:`~lnamespace.gateway.objects.schema_quota`: how large the schemas of an LCluster may be.
- :mod:`~lnamespace.gateway.objects.cluster_quota`: how many webhooks, policies and
  ClusterRoleBindings an LCluster may have.
- :mod:`~lnamespace.gateway.objects.requesters`: the requester of a certificate.
- :mod:`~lnamespace.gateway.objects.volumes`: PersistentVolumes that a provisioner created.
- :mod:`~lnamespace.gateway.objects.streams`: logs, exec, attach, port-forward and proxy, byte for
  byte.
- :mod:`~lnamespace.gateway.objects.synthetic`: nodes and other objects that exist in the gateway
  alone.
"""
