"""``lnamespace gateway check``: find objects that would leak into LClusters, or collide.

- :mod:`~lnamespace.gateway.check.rights`: the rights that the gateway's account needs.
- :mod:`~lnamespace.gateway.check.state`: the state of the platform's cluster, as values.
- :mod:`~lnamespace.gateway.check.reviewing`: asks which of them it has.
- :mod:`~lnamespace.gateway.check.conversions`: kinds that cannot be listed.
- :mod:`~lnamespace.gateway.check.reading`: reads the platform's cluster, and changes nothing in it.
- :mod:`~lnamespace.gateway.check.finding`: findings, and the words that they have in common.
- :mod:`~lnamespace.gateway.check.findings`: judges what was read; pure. What is published:
  :mod:`~lnamespace.gateway.check.publication`.
- :mod:`~lnamespace.gateway.check.command`: prints it.
"""
