"""Evaluate RBAC as Kubernetes does, as pure functions over the objects of one tenant.

All names are in tenant spelling: the caller translates. Nothing here waits, reads or writes.

- :mod:`~lnamespace.rbac.attributes`: who asks for what.
- :mod:`~lnamespace.rbac.objects`: Roles and bindings, decoded;
  :mod:`~lnamespace.rbac.store`: those of one tenant, cheap to update;
  :mod:`~lnamespace.rbac.aggregation`: ClusterRoles that have the rules of others;
  :mod:`~lnamespace.rbac.base`: what a tenant's people have without any object.
- :mod:`~lnamespace.rbac.authorizer`: may this user do this? One rule against one request:
  :mod:`~lnamespace.rbac.rules`.
- :mod:`~lnamespace.rbac.escalation`: nobody grants what they do not have, as
  :mod:`~lnamespace.rbac.covering` compares rules.
- :mod:`~lnamespace.rbac.preconditions`: a write stores what was judged.
- :mod:`~lnamespace.rbac.secondary`: what else the API server asks its authorizer.
- :mod:`~lnamespace.rbac.impersonation`: ``--as``.
- :mod:`~lnamespace.rbac.reviews`, :mod:`~lnamespace.rbac.token_reviews`: the kinds by which clients
  ask such questions, with :mod:`~lnamespace.rbac.selectors` and in the words of Go
  (:mod:`~lnamespace.translate.protocol.quoting`).
"""
