"""Cache all tenants, by watches of the platform's cluster. Nothing is stored.

- :mod:`~lnamespace.gateway.tenants.cache`: all tenants;
  :mod:`~lnamespace.gateway.tenants.view_builder`: their views.
- :mod:`~lnamespace.gateway.tenants.tenant`: one tenant: its names, and the rights of its users.
- :mod:`~lnamespace.gateway.tenants.namespaces`: the namespaces of a tenant, and its rights in them.
- :mod:`~lnamespace.gateway.tenants.roles`: the Roles and bindings of a tenant; pure.
- :mod:`~lnamespace.gateway.tenants.watched_parts`: the parts of watched objects that are kept.
- :mod:`~lnamespace.gateway.tenants.tenant_maps`: a map for each tenant that has entries.
- :mod:`~lnamespace.gateway.tenants.default_classes`: the default classes of tenants, from watches.
- :mod:`~lnamespace.gateway.tenants.totals`: quotas of a tenant over all its namespaces.
- :mod:`~lnamespace.gateway.tenants.object_counts`: how many objects each tenant has, counted
  slowly.
- :mod:`~lnamespace.gateway.tenants.volume_sizes`: how much storage each tenant's volumes have.
- :mod:`~lnamespace.gateway.tenants.unconverted_kinds`: the kinds of tenants that nobody converts
  now.
- :mod:`~lnamespace.gateway.tenants.embedding_schemas`: the definitions whose schemas embed objects,
  or are withheld.
- :mod:`~lnamespace.gateway.tenants.usage`: the usage of each tenant, as metrics.
"""
