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
- :mod:`~lnamespace.gateway.tenants.unconverted_kinds`: its kinds that nobody converts now.
- :mod:`~lnamespace.gateway.tenants.embedding_schemas`: its definitions that embed objects.
- :mod:`~lnamespace.gateway.tenants.usage`: what each tenant uses, as metrics.
"""
