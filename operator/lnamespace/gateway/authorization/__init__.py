"""Authorize the requests of a tenant's users, by :mod:`lnamespace.rbac`.

- :mod:`~lnamespace.gateway.authorization.reviewing`: answers to access reviews and token reviews.
- :mod:`~lnamespace.gateway.authorization.role_writes`: refuses writes that would grant rights which
  the user does not have.
- :mod:`~lnamespace.gateway.authorization.secondary_checks`: further rights that some requests need.
- :mod:`~lnamespace.gateway.authorization.lasting_rights`: ends a watch or a stream with the right
  to it.
"""
