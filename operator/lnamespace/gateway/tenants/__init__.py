"""Know all tenants, by watches of the platform's cluster. Nothing is stored.

- :mod:`~lnamespace.gateway.tenants.cache`: all of them.
- :mod:`~lnamespace.gateway.tenants.tenant`: one of them: its names, and what its people may do.
- :mod:`~lnamespace.gateway.tenants.namespaces`: its namespaces; what may be done in them already.
- :mod:`~lnamespace.gateway.tenants.roles`: its Roles and bindings; pure.
- :mod:`~lnamespace.gateway.tenants.totals`: its shares of quotas over all its namespaces.
- :mod:`~lnamespace.gateway.tenants.object_counts`: how many objects it has, counted slowly.
- :mod:`~lnamespace.gateway.tenants.volume_sizes`: how much storage its volumes have.
- :mod:`~lnamespace.gateway.tenants.usage`: what each tenant uses, as metrics.
"""
