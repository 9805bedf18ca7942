"""Evaluate RBAC as Kubernetes does, as pure functions over the objects of one tenant.

All names are in tenant spelling: the caller translates. Nothing here waits, reads or writes.

- :mod:`~lnamespace.rbac.attributes`: the user and the attributes of a request.
- :mod:`~lnamespace.rbac.objects`: Roles and bindings, decoded;
  :mod:`~lnamespace.rbac.store`: those of one tenant, cheap to update;
  :mod:`~lnamespace.rbac.aggregation`: ClusterRoles that have the rules of others;
  :mod:`~lnamespace.rbac.base`: the rights that a tenant's people have without any object.
- :mod:`~lnamespace.rbac.authorizer`: whether a user may send a request;
  :mod:`~lnamespace.rbac.rules`: whether one rule allows it.
- :mod:`~lnamespace.rbac.escalation`: whether a user has the rights that a Role or binding grants;
  :mod:`~lnamespace.rbac.covering`: which rules are not covered by others.
- :mod:`~lnamespace.rbac.preconditions`: bind a write to the object that was checked.
- :mod:`~lnamespace.rbac.secondary`: further rights that some requests need.
- :mod:`~lnamespace.rbac.impersonation`: ``--as``.
- :mod:`~lnamespace.rbac.reviews`, :mod:`~lnamespace.rbac.token_reviews`: the kinds by which clients
  ask for their rights, with :mod:`~lnamespace.rbac.selectors`.
"""
