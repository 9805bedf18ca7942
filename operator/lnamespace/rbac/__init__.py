"""Evaluate RBAC as Kubernetes does, as pure functions over the objects of one tenant.

All names are in tenant spelling: the caller translates. Nothing here waits, reads or writes.

- :mod:`~lnamespace.rbac.objects`: Roles and bindings, decoded.
- :mod:`~lnamespace.rbac.store`: the Roles and bindings of one tenant; cheap to update.
- :mod:`~lnamespace.rbac.base`: what a tenant's people have without any object.
- :mod:`~lnamespace.rbac.attributes`: who asks for what.
- :mod:`~lnamespace.rbac.authorizer`: may this user do this?
- :mod:`~lnamespace.rbac.escalation`: nobody grants what they do not have.
- :mod:`~lnamespace.rbac.secondary`: what else the API server asks its authorizer.
- :mod:`~lnamespace.rbac.impersonation`: ``--as``.
- :mod:`~lnamespace.rbac.reviews`: the kinds by which clients ask such questions.
"""
