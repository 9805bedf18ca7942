"""Serve discovery, OpenAPI, and the other non-resource paths.

- :mod:`~lnamespace.gateway.discovery.paths`: answers a request for a non-resource path.
- :mod:`~lnamespace.gateway.discovery.documents`: cached documents of the API server, which are
  revalidated for each request.
- :mod:`~lnamespace.gateway.discovery.upstream_discovery`: the resources that the API server serves,
  kept current.
- :mod:`~lnamespace.gateway.discovery.served_apis`: the resources that a tenant is served.
- :mod:`~lnamespace.gateway.discovery.openapi`: the OpenAPI documents of tenants.
"""
