"""Translate discovery, OpenAPI, and the other non-resource paths.

- :mod:`~lnamespace.translate.discovery.groups`: the groups that the platform serves, and those
  that a tenant is served.
- :mod:`~lnamespace.translate.discovery.published`: objects and groups of the platform that every
  tenant sees.
- :mod:`~lnamespace.translate.discovery.documents`: discovery, aggregated and legacy.
- :mod:`~lnamespace.translate.discovery.openapi_v3`: OpenAPI v3;
  :mod:`~lnamespace.translate.discovery.openapi_v2`: v2, also as
  :mod:`~lnamespace.translate.discovery.openapi_v2_protobuf`.
- :mod:`~lnamespace.translate.discovery.openapi_paths`: which operations of a document a tenant is
  served; :mod:`~lnamespace.translate.discovery.openapi_names`: names in it.
- :mod:`~lnamespace.translate.discovery.service_paths`: the non-resource paths.
"""
