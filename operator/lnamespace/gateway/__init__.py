"""The process ``lnamespace gateway``, which shows every tenant a whole cluster of its own.

It learns its state from watches, and stores nothing. One request, from its socket to its answer:

- :mod:`~lnamespace.gateway.serving`: the steps of a request, in order.
- :mod:`~lnamespace.gateway.destinations`: the tenant of a request, by host or by path.
- :mod:`~lnamespace.gateway.authentication`: the sender of a request, and their user inside the
  tenant's cluster.
- :mod:`~lnamespace.gateway.fairness`: limits of what each tenant uses of the gateway.
- :mod:`~lnamespace.gateway.authorization`: whether the user may send the request.
- :mod:`~lnamespace.gateway.refusals`: the answers to requests that are refused as a whole.
- :mod:`~lnamespace.gateway.audit`: the audit log.
- :mod:`~lnamespace.gateway.forwarding`: the handler of a request for objects:
  :mod:`~lnamespace.gateway.lists`, :mod:`~lnamespace.gateway.watches`,
  :mod:`~lnamespace.gateway.objects`, or the API server itself
  (:mod:`~lnamespace.gateway.upstream`).
- :mod:`~lnamespace.gateway.requests`: a request, and its answer.
- :mod:`~lnamespace.gateway.discovery`: discovery, OpenAPI and the other non-resource paths.

State that these use:

- :mod:`~lnamespace.gateway.tenants`: all tenants, cached by watches.
- :mod:`~lnamespace.gateway.definitions`: reads and patches of tenants' CustomResourceDefinitions.
- :mod:`~lnamespace.gateway.certificates`: certificates of the gateway, and of people inside
  LClusters.

Besides tenants' requests:

- :mod:`~lnamespace.gateway.controllers`: control loops that keep stored objects of tenants from
  harming the platform.
- :mod:`~lnamespace.gateway.webhooks`: calls of tenants' webhooks for the API server.
- :mod:`~lnamespace.gateway.pods`: the port for programs in pods.
- :mod:`~lnamespace.gateway.mine`: the endpoint for the platform's own cluster, for people who have
  LNamespaces.
- :mod:`~lnamespace.gateway.check`: the command ``lnamespace gateway check``.
- :mod:`~lnamespace.gateway.process`: start and end of the process;
  :mod:`~lnamespace.gateway.parts`: its objects, built from the options.
- :mod:`~lnamespace.gateway.supervisor`: several processes at the same ports, each a
  :mod:`~lnamespace.gateway.worker` behind a :mod:`~lnamespace.gateway.worker_channel`.
"""
