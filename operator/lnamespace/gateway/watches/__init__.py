"""Answer watches, which may be made of one watch for each namespace.

- :mod:`~lnamespace.gateway.watches.watching`: answers a watch.
- :mod:`~lnamespace.gateway.watches.watch_requests`: the watch that a client requests, and those
  that it is merged from.
- :mod:`~lnamespace.gateway.watches.merged_watches`: one watch of several namespaces, which may
  be added and removed.
- :mod:`~lnamespace.gateway.watches.event_heads`: the type and version of an event; pure.
- :mod:`~lnamespace.gateway.watches.resuming`: the version at which a client resumes in each
  namespace; pure.
- :mod:`~lnamespace.gateway.watches.watch_events`: events on their way to a client that may read
  slowly.
"""
