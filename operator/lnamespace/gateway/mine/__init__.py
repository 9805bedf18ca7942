"""The endpoint ``mine``: the platform's own cluster, for people who have LNamespaces.

Nothing is translated. Each request goes to the API server with the caller's own token, and the API
server decides about it. Lists and watches of Namespaces, and of namespaced resources in all
namespaces, span the caller's namespaces instead of all (docs/decisions/0055-mine.md).

- :mod:`~lnamespace.gateway.mine.handler`: the steps of a request, in order.
- :mod:`~lnamespace.gateway.mine.callers`: the callers, and their credentials.
- :mod:`~lnamespace.gateway.mine.rights`: the namespaces in which people have rights, and since
  when.
- :mod:`~lnamespace.gateway.mine.lnamespaces`: the Namespaces that belong to LNamespaces.
- :mod:`~lnamespace.gateway.mine.spans`: the requests upstream of a list or watch that spans
  namespaces; pure.
- :mod:`~lnamespace.gateway.mine.calls`: one list or watch that spans the caller's namespaces;
  :mod:`~lnamespace.gateway.mine.lists` and :mod:`~lnamespace.gateway.mine.watches`: the answers.
- :mod:`~lnamespace.gateway.mine.proxying`: all other requests, byte for byte.
"""
