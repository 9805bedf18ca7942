"""Authenticate the sender of a request, and find their user inside a tenant's cluster.

- :mod:`~lnamespace.gateway.authentication.logins`: the login, by a certificate or a token of the
  platform, or of the tenant.
- :mod:`~lnamespace.gateway.authentication.people`: the user of a login in a tenant's cluster;
  none, if its lists do not have it; and whom they impersonate by ``kubectl --as``.
"""
