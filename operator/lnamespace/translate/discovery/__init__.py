"""Tell a tenant what it is served: discovery, OpenAPI, and paths that are no objects.

- :mod:`~lnamespace.translate.discovery.groups`: what the platform serves, and what of it a tenant
  is served.
- :mod:`~lnamespace.translate.discovery.published`: objects and groups of the platform that
  everybody sees.
- :mod:`~lnamespace.translate.discovery.documents`: discovery, aggregated and legacy.
- :mod:`~lnamespace.translate.discovery.openapi_v3`: OpenAPI v3;
  :mod:`~lnamespace.translate.discovery.openapi_v2`: v2, also as
  :mod:`~lnamespace.translate.discovery.openapi_v2_protobuf`.
- :mod:`~lnamespace.translate.discovery.openapi_paths`: which operations of a document a tenant is
  served; :mod:`~lnamespace.translate.discovery.openapi_names`: names in it.
- :mod:`~lnamespace.translate.discovery.service_paths`: the paths that are no objects.
"""
