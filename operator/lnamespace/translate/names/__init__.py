"""Translate the names of one tenant, in both directions.

- :mod:`~lnamespace.translate.names.tenant_view`: all of them.
- :mod:`~lnamespace.translate.names.allowances`: settings of the platform that tenants may use.
- :mod:`~lnamespace.translate.names.webhook_routes`: the paths of a tenant's webhooks in the
  gateway.
- :mod:`~lnamespace.translate.names.acting_users`: the user in reviews for webhooks.
"""
