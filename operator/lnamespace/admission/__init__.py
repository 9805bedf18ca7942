"""The admission and conversion webhook: what the API server asks before it stores an LNamespace.

A request passes through, from the network to the answer:

* :mod:`.webhook` - the process: wiring, start, graceful end.
* :mod:`.server` - HTTPS with bounds on size, time and memory; :mod:`.caller` - the client's
  address.
* :mod:`.endpoints` - a path each: decode the review, read what the decision needs, decide, encode.
* :mod:`.accounts`, :mod:`.usage`, :mod:`.inheritance` - what is read from the cluster: to whom a
  creation counts, how many LNamespaces they have, the charge that a ServiceAccount inherits;
  :mod:`.prefixes` - whether a new name meets names of a tenant's cluster.
* :mod:`.decisions` - the answers; pure.
* :mod:`.deletions` - deletions written to the outbox before they happen.
* :mod:`.certificates` - the serving certificate.
* :mod:`.threads` - long work outside the event loop.
"""
