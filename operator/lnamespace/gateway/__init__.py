"""The process ``lnamespace gateway``, which shows every tenant a whole cluster of its own.

One request, from its head to its answer:

- :mod:`~lnamespace.gateway.http`: HTTP/1.1 in both directions.
- :mod:`~lnamespace.gateway.serving`: the steps of a request, in order.
- :mod:`~lnamespace.gateway.doors`: for which tenant it is, by host or by path.
- :mod:`~lnamespace.gateway.logins` and :mod:`~lnamespace.gateway.people`: who sent it, and who they
  are inside that tenant's cluster.
- :mod:`~lnamespace.gateway.signer`: signs what an LCluster's people ask for and approve inside it.
- :mod:`~lnamespace.gateway.in_flight`: how much one tenant may ask at once.
- :mod:`~lnamespace.gateway.impersonating`, :mod:`~lnamespace.gateway.reviewing`,
  :mod:`~lnamespace.gateway.role_writes`: ``--as``, access reviews, no escalation.
- :mod:`~lnamespace.gateway.forwarding`: to the platform's API server and back; lists and watches of
  several namespaces are joined in :mod:`~lnamespace.gateway.listing` and
  :mod:`~lnamespace.gateway.watching`.
- :mod:`~lnamespace.gateway.grants`: asks again what is refused in the second before the API server
  knows of a new namespace's RoleBinding.
- :mod:`~lnamespace.gateway.mine`: the door to the platform's own cluster, for LNamespaces.
- :mod:`~lnamespace.gateway.discovery`: discovery, OpenAPI and other paths that are no objects.

What the gateway knows, it knows from watches (:mod:`~lnamespace.gateway.tenants`); it stores
nothing.
"""
