"""Translate the URL and the headers of a request.

- :mod:`~lnamespace.translate.requests.targets`: the URL upstream.
- :mod:`~lnamespace.translate.requests.selection`: the selectors in it;
  :mod:`~lnamespace.translate.requests.event_selection`: those over Events.
- :mod:`~lnamespace.translate.requests.continuation`: continue tokens.
- :mod:`~lnamespace.translate.requests.headers`: headers, both ways.
"""
