"""What `--help` prints, one module for each plugin. No other command loads it.

- :mod:`~lnamespace.plugins.help.create`: `kubectl create lns` and `kubectl create lcluster`.
- :mod:`~lnamespace.plugins.help.lns`: `kubectl lns` and its subcommands.
- :mod:`~lnamespace.plugins.help.sudo`: `kubectl sudo`.
"""
