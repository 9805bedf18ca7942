"""Share out what all tenants have together: connections, memory, the one thread.

- :mod:`~lnamespace.gateway.fairness.in_flight`: how much one tenant may have under way at once.
- :mod:`~lnamespace.gateway.fairness.shares`: what each has of the memory for answers.
- :mod:`~lnamespace.gateway.fairness.turns`: how long each has had the thread, and whose work goes
  on next.
"""
