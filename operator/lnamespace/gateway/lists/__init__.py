"""Answer lists, which may be made of one list for each namespace.

- :mod:`~lnamespace.gateway.lists.listing`: answers a list.
- :mod:`~lnamespace.gateway.lists.parts`: the requests upstream that a list or watch is made of;
  pure.
- :mod:`~lnamespace.gateway.lists.merged_lists`: lists of all namespaces, at one resource version.
- :mod:`~lnamespace.gateway.lists.pages`: several lists as one; pure.
- :mod:`~lnamespace.gateway.lists.sealing`: continue tokens, sealed by a key that all replicas
  have.
- :mod:`~lnamespace.gateway.lists.empty_answers`: lists and watches where there is no namespace to
  ask in.
"""
