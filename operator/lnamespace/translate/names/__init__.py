"""Spell the names of one tenant, in both directions.

- :mod:`~lnamespace.translate.names.view`: all of them.
- :mod:`~lnamespace.translate.names.allowances`: what of the platform objects of tenants may use.
- :mod:`~lnamespace.translate.names.webhook_routes`: where the API server asks the webhooks of a
  tenant.
- :mod:`~lnamespace.translate.names.acting_users`: who acts, as webhooks are told it.
"""
