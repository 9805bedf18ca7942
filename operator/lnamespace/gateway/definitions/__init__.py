"""Read and patch tenants' CustomResourceDefinitions as the gateway itself.

- :mod:`~lnamespace.gateway.definitions.definition`: one of them, the parts that are used.
- :mod:`~lnamespace.gateway.definitions.definition_patches`: patches, also of definitions that are
  full.
- :mod:`~lnamespace.gateway.definitions.conversion_marks`: the mark of a definition whose conversion
  webhook fails.
- :mod:`~lnamespace.gateway.definitions.conversion_paths`: the path by which the API server asks the
  gateway to convert.
"""
