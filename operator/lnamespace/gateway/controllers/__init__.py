"""Control loops of the gateway, which keep what tenants stored upstream from harming the platform.

Kubernetes lists every kind before a namespace is gone, so one kind that cannot be listed would stop
all deletions of the cluster.

- :mod:`~lnamespace.gateway.controllers.failing_converters`: kinds whose conversion webhook fails.
- :mod:`~lnamespace.gateway.controllers.withheld_schemas`: kinds with schemas for which an object
  cannot be listed.
- :mod:`~lnamespace.gateway.controllers.unserved_kinds`: kinds that lack a version in which an
  object is stored.
- :mod:`~lnamespace.gateway.controllers.listed_kinds`: whether a kind can be listed, and why not;
  :mod:`~lnamespace.gateway.controllers.checks`: the checks that are under way.
- :mod:`~lnamespace.gateway.controllers.conversion_clients`: the CA and the key by which the API
  server asks the gateway to convert.
- :mod:`~lnamespace.gateway.controllers.full_definitions`: definitions of deleted LClusters, for
  which etcd has no room.
- :mod:`~lnamespace.gateway.controllers.stored_conditions`: the conditions that confine stored
  webhooks and policies.
"""
