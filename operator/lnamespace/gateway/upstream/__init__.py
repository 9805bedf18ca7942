"""Send requests to the platform's API server.

- :mod:`~lnamespace.gateway.upstream.requests`: requests as a tenant, or as the gateway itself.
- :mod:`~lnamespace.gateway.upstream.retrying`: retries of requests whose RoleBinding the API server
  has not observed yet.
"""
