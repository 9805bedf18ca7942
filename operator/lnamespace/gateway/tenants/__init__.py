"""Cache all tenants, by watches of the platform's cluster. Nothing is stored.

- :mod:`~lnamespace.gateway.tenants.cache`: all of them;
  :mod:`~lnamespace.gateway.tenants.view_builder`: their views.
- :mod:`~lnamespace.gateway.tenants.tenant`: one of them: its names, and the rights of its users.
- :mod:`~lnamespace.gateway.tenants.namespaces`: its namespaces, and its rights in them.
- :mod:`~lnamespace.gateway.tenants.roles`: its Roles and bindings; pure.
- :mod:`~lnamespace.gateway.tenants.watched_parts`: the parts of watched objects that are kept.
- :mod:`~lnamespace.gateway.tenants.tenant_maps`: maps of each tenant, of those that have any.
- :mod:`~lnamespace.gateway.tenants.default_classes`: its default classes, by what watches show.
- :mod:`~lnamespace.gateway.tenants.totals`: its quotas over all namespaces.
- :mod:`~lnamespace.gateway.tenants.object_counts`: how many objects it has, counted slowly.
- :mod:`~lnamespace.gateway.tenants.volume_sizes`: how much storage its volumes have.
- :mod:`~lnamespace.gateway.tenants.stored_conditions`: renews what confines its stored webhooks.
- :mod:`~lnamespace.gateway.tenants.failing_converters`: keeps Kubernetes from waiting for kinds of
  theirs that cannot be listed, by :mod:`~lnamespace.gateway.tenants.conversion_marks` and
  :mod:`~lnamespace.gateway.tenants.conversion_paths`, where
  :mod:`~lnamespace.gateway.tenants.listed_kinds` says so;
  :mod:`~lnamespace.gateway.tenants.unconverted_kinds`: those that nobody converts now.
- :mod:`~lnamespace.gateway.tenants.withheld_schemas`: withholds schemas for which a kind cannot be
  listed, of those that :mod:`~lnamespace.gateway.tenants.embedding_schemas` knows.
- :mod:`~lnamespace.gateway.tenants.unserved_kinds`: stops serving a kind whose definition lacks a
  version in which an object is stored.
- :mod:`~lnamespace.gateway.tenants.definition_patches`: patches of definitions, which may be full.
- :mod:`~lnamespace.gateway.tenants.conversion_clients`: renews the CA and the key by which the
  API server asks the gateway to convert.
- :mod:`~lnamespace.gateway.tenants.full_definitions`: empties definitions of deleted LClusters, for
  which etcd has no room.
- :mod:`~lnamespace.gateway.tenants.usage`: what each tenant uses, as metrics.
"""
