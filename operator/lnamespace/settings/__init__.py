"""Every option, once: its flag, its environment variable, its default and its meaning.

The option ``users_role`` has the flag ``--users-role`` and the environment variable
``LNAMESPACE_USERS_ROLE``; the flag takes precedence.

- :mod:`~lnamespace.settings.options`: all options, from flags and the environment; defined in
  :mod:`~lnamespace.settings.tenancy_options`, :mod:`~lnamespace.settings.gateway_options` and
  :mod:`~lnamespace.settings.ledger_options`, by :mod:`~lnamespace.settings.definition`.
- :mod:`~lnamespace.settings.checks`: what their values must be.
"""

from lnamespace.settings.checks import items
from lnamespace.settings.options import Settings, add_options, documented, load

__all__ = ["Settings", "add_options", "documented", "items", "load"]
