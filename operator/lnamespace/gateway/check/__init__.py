"""``lnamespace gateway check``: find objects that would leak into LClusters, or collide.

- :mod:`~lnamespace.gateway.check.rights`: the rights that the gateway's account needs;
  :mod:`~lnamespace.gateway.check.reviewing`: which of them it has.
- :mod:`~lnamespace.gateway.check.state`: the state of the platform's cluster, as values.
- :mod:`~lnamespace.gateway.check.reading`: reads the platform's cluster, and changes nothing in it;
  :mod:`~lnamespace.gateway.check.parts`: what of the answers it reads;
  :mod:`~lnamespace.gateway.check.listing`: kinds that cannot be listed.
- :mod:`~lnamespace.gateway.check.findings`: finds leaks and collisions in the state; pure;
  :mod:`~lnamespace.gateway.check.kind_findings`: those of kinds;
  :mod:`~lnamespace.gateway.check.publication`: those of published objects;
  :mod:`~lnamespace.gateway.check.finding`: their type.
- :mod:`~lnamespace.gateway.check.command`: the command, which prints the findings.
"""
