"""Decide what the people of a tenant may do, by :mod:`lnamespace.rbac`.

- :mod:`~lnamespace.gateway.authorization.reviewing`: answers to access reviews and token reviews.
- :mod:`~lnamespace.gateway.authorization.role_writes`: nobody grants what they do not have.
- :mod:`~lnamespace.gateway.authorization.secondary_checks`: what the API server asks its
  authorizer besides the request.
- :mod:`~lnamespace.gateway.authorization.lasting_rights`: a watch or a stream ends with the right
  to it.
"""
