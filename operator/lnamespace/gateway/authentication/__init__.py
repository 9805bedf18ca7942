"""Find out who sent a request, and who they are inside a tenant's cluster.

- :mod:`~lnamespace.gateway.authentication.logins`: who sent it: by a certificate or a token of
  the platform, or of the tenant.
- :mod:`~lnamespace.gateway.authentication.people`: who they are in the cluster of a tenant;
  nobody, if its lists do not have them.
- :mod:`~lnamespace.gateway.authentication.impersonating`: whom they act as there, by ``kubectl
  --as``.
"""
