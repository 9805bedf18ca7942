"""Send requests to the platform's API server.

- :mod:`~lnamespace.gateway.upstream.requests`: as a tenant, or as the gateway itself.
- :mod:`~lnamespace.gateway.upstream.retrying`: again, where its authorizer has not yet observed
  a RoleBinding that the gateway has.
"""
