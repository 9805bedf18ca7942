"""Answer watches, which may be made of one watch for each namespace.

- :mod:`~lnamespace.gateway.watches.watching`: answers a watch.
- :mod:`~lnamespace.gateway.watches.merged_watches`: watches of all namespaces, which join and
  leave.
- :mod:`~lnamespace.gateway.watches.resuming`: from which place in each namespace a client goes
  on; pure.
- :mod:`~lnamespace.gateway.watches.watch_events`: events on their way to a client that may read
  slowly.
"""
