"""Serve discovery, OpenAPI, and the other paths that are no objects.

- :mod:`~lnamespace.gateway.discovery.paths`: answers a request for such a path.
- :mod:`~lnamespace.gateway.discovery.documents`: documents of the API server, each as current as
  the moment it is asked for.
- :mod:`~lnamespace.gateway.discovery.upstream_discovery`: which resources the API server serves,
  kept current.
- :mod:`~lnamespace.gateway.discovery.served_apis`: what of it a tenant is served.
- :mod:`~lnamespace.gateway.discovery.openapi`: the OpenAPI documents of tenants.
"""
