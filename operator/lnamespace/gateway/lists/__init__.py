"""Answer lists, which may be merged from one list for each namespace.

- :mod:`~lnamespace.gateway.lists.listing`: answers a list.
- :mod:`~lnamespace.gateway.lists.parts`: the requests upstream for one list or watch; pure.
- :mod:`~lnamespace.gateway.lists.merged_lists`: lists of all namespaces, at one resource version.
- :mod:`~lnamespace.gateway.lists.pages`: several lists as one; pure.
- :mod:`~lnamespace.gateway.lists.sealing`: continue tokens, sealed by a key that all replicas
  have.
- :mod:`~lnamespace.gateway.lists.empty_answers`: lists and watches of a tenant without namespaces.
"""
