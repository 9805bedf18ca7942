"""The process ``lnamespace gateway``, which shows every tenant a whole cluster of its own.

It learns its state from watches, and stores nothing. One request, from its socket to its answer:

- :mod:`~lnamespace.gateway.serving`: the steps of a request, in order.
- :mod:`~lnamespace.gateway.destinations`: its tenant, by host or by path.
- :mod:`~lnamespace.gateway.authentication`: its sender, and their user inside that cluster.
- :mod:`~lnamespace.gateway.fairness`: how much of the gateway each tenant may have.
- :mod:`~lnamespace.gateway.authorization`: whether that user may do it.
- :mod:`~lnamespace.gateway.refusals`: the answers to requests that are refused as a whole.
- :mod:`~lnamespace.gateway.audit`: the line that is written about it.
- :mod:`~lnamespace.gateway.forwarding`: where it goes: to :mod:`~lnamespace.gateway.lists`, to
  :mod:`~lnamespace.gateway.watches`, to :mod:`~lnamespace.gateway.objects`, or as it is to the
  API server (:mod:`~lnamespace.gateway.upstream`).
- :mod:`~lnamespace.gateway.requests`: the request itself, and its answer.
- :mod:`~lnamespace.gateway.discovery`: paths that are no objects.

What it needs for that:

- :mod:`~lnamespace.gateway.tenants`: what is known of each tenant.
- :mod:`~lnamespace.gateway.definitions`: its CustomResourceDefinitions, and patches of them.
- :mod:`~lnamespace.gateway.certificates`: the gateway's own, and those of people inside.

Besides tenants' requests:

- :mod:`~lnamespace.gateway.controllers`: keeps what tenants stored from harming the platform.
- :mod:`~lnamespace.gateway.webhooks`: the API server asks, and a tenant's webhook answers.
- :mod:`~lnamespace.gateway.pods`: the port for programs in pods.
- :mod:`~lnamespace.gateway.mine`: the endpoint for the platform's own cluster, for people who
  have LNamespaces.
- :mod:`~lnamespace.gateway.check`: the command ``lnamespace gateway check``.
- :mod:`~lnamespace.gateway.process`: starts all of this, and ends it;
  :mod:`~lnamespace.gateway.parts`: makes its parts as the options say.
- :mod:`~lnamespace.gateway.supervisor`: several of such processes at the same ports, each a
  :mod:`~lnamespace.gateway.worker` behind a :mod:`~lnamespace.gateway.worker_channel`.
"""
