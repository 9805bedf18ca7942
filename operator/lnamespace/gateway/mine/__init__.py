"""The door ``mine``: the platform's own cluster, for people who have LNamespaces.

Nothing is translated. Each request goes to the API server with the visitor's own token, and the API
server decides about it. Lists and watches of Namespaces, and of namespaced resources in all
namespaces, span the visitor's namespaces instead of all (docs/decisions/0055-mine.md).

- :mod:`~lnamespace.gateway.mine.door`: the steps of a request, in order.
- :mod:`~lnamespace.gateway.mine.visitors`: who asks, and by which credentials.
- :mod:`~lnamespace.gateway.mine.rights`: in which namespaces who has rights, and since when.
- :mod:`~lnamespace.gateway.mine.spans`: which requests span namespaces, and of which requests
  upstream each is made; pure.
- :mod:`~lnamespace.gateway.mine.lists` and :mod:`~lnamespace.gateway.mine.watches`: the answers.
- :mod:`~lnamespace.gateway.mine.passing`: everything else, byte for byte.
"""
