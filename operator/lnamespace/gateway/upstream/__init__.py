"""Ask the platform's API server.

- :mod:`~lnamespace.gateway.upstream.requests`: as a tenant, or as the gateway itself.
- :mod:`~lnamespace.gateway.upstream.grants`: again, where it does not know yet of a RoleBinding
  that the gateway has seen.
"""
