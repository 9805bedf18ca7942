"""Authorize the requests of a tenant's users, by :mod:`lnamespace.rbac`.

- :mod:`~lnamespace.gateway.authorization.reviewing`: answers to access reviews and token reviews.
- :mod:`~lnamespace.gateway.authorization.role_writes`: no user grants rights that they do not have.
- :mod:`~lnamespace.gateway.authorization.secondary_checks`: what the API server asks its
  authorizer besides the request.
- :mod:`~lnamespace.gateway.authorization.lasting_rights`: a watch or a stream ends with the right
  to it.
"""
