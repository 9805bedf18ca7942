"""The process ``lnamespace gateway``, which shows every tenant a whole cluster of its own.

What it knows, it knows from watches and stores nothing. One request, from its socket to its answer:

- :mod:`~lnamespace.gateway.http`: HTTP/1.1 in both directions.
- :mod:`~lnamespace.gateway.serving`: the steps of a request, in order;
  :mod:`~lnamespace.gateway.audit` writes a line about each.
- :mod:`~lnamespace.gateway.doors`: for which tenant it is, by host or by path.
- :mod:`~lnamespace.gateway.logins`, :mod:`~lnamespace.gateway.people`: who sent it, and who they
  are inside that tenant's cluster. :mod:`~lnamespace.gateway.impersonating`: ``--as``.
- :mod:`~lnamespace.gateway.in_flight`: how much one tenant may ask at once;
  :mod:`~lnamespace.gateway.turns`: whose work goes on next in the one thread;
  :mod:`~lnamespace.gateway.lasting_rights`: a watch ends with the right to it.
- :mod:`~lnamespace.gateway.reviewing` answers who may do what;
  :mod:`~lnamespace.gateway.role_writes` and :mod:`~lnamespace.gateway.secondary_checks` refuse what
  would give more rights than its sender has.
- :mod:`~lnamespace.gateway.content`: how much may be made in an LCluster, and until when.
- :mod:`~lnamespace.gateway.calls`: the request, when it is allowed, and
  :mod:`~lnamespace.gateway.answer_encodings`: how its client wants to be answered.
- :mod:`~lnamespace.gateway.forwarding`: to the API server and back, by
  :mod:`~lnamespace.gateway.upstream`. :mod:`~lnamespace.gateway.grants` sends again what is refused
  before the API server knows of a new namespace's RoleBinding. Some writes depend on what is
  :mod:`~lnamespace.gateway.stored`: :mod:`~lnamespace.gateway.applies`,
  :mod:`~lnamespace.gateway.requesters`, :mod:`~lnamespace.gateway.volumes`.
- :mod:`~lnamespace.gateway.answers`: the answer, in gzip by
  :mod:`~lnamespace.gateway.compression`; :mod:`~lnamespace.gateway.streams`: logs and exec;
  :mod:`~lnamespace.gateway.made`: objects that the gateway makes itself.

A list or watch is made of :mod:`~lnamespace.gateway.parts`, one for each namespace:

- :mod:`~lnamespace.gateway.listing` answers lists, :mod:`~lnamespace.gateway.watching` watches.
- :mod:`~lnamespace.gateway.merged_lists`, :mod:`~lnamespace.gateway.merged_watches`: of several
  namespaces as of one cluster. :mod:`~lnamespace.gateway.merging` has the pure part,
  :mod:`~lnamespace.gateway.sealing` the continue tokens. Where no namespace is open,
  :mod:`~lnamespace.gateway.empty_answers` are given.

Paths that are no objects:

- :mod:`~lnamespace.gateway.discovery` answers them, from
  :mod:`~lnamespace.gateway.documents` of the API server, by tenant
  (:mod:`~lnamespace.gateway.served_apis`, :mod:`~lnamespace.gateway.openapi`).

What is known of tenants:

- :mod:`~lnamespace.gateway.tenants`: all of them, by watches and by
  :mod:`~lnamespace.gateway.upstream_discovery`; :mod:`~lnamespace.gateway.tenant`: one of them,
  its :mod:`~lnamespace.gateway.namespaces` and its :mod:`~lnamespace.gateway.roles`.

Certificates:

- :mod:`~lnamespace.gateway.certificates`: TLS; :mod:`~lnamespace.gateway.authorities`: the CAs of
  LClusters.
- :mod:`~lnamespace.gateway.signer` signs what people inside ask for
  (:mod:`~lnamespace.gateway.signing_requests`).

Besides tenants' requests:

- :mod:`~lnamespace.gateway.webhooks`: the API server asks, and a tenant's webhook answers.
- :mod:`~lnamespace.gateway.mine`: the door to the platform's own cluster, for LNamespaces.
- :mod:`~lnamespace.gateway.check`: the command ``lnamespace gateway check``.
- :mod:`~lnamespace.gateway.process`: what makes all this and ends it.
- :mod:`~lnamespace.gateway.supervisor`: several of such processes at the same ports, each a
  :mod:`~lnamespace.gateway.worker`, which answers :mod:`~lnamespace.gateway.questions`.
"""
