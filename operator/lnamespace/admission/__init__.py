"""The admission and conversion webhook, which the API server calls before it stores an LNamespace.

A request passes through, from the network to the answer:

* :mod:`.webhook` - the process: wiring, start, graceful end.
* :mod:`.server` - HTTPS with bounds on size, time and memory; :mod:`.caller` - the client's
  address.
* :mod:`.endpoints` - a path each: decode the review, read what the decision needs, decide, encode.
* :mod:`.accounts`, :mod:`.inheritance` - reads from the cluster: the account to which a creation
  counts and its number of LNamespaces, the charge that a ServiceAccount inherits;
  :mod:`.prefixes` - whether a new name conflicts with names of a tenant's cluster.
* :mod:`.decisions` - the answers; pure.
* :mod:`.deletions` - deletions written to the outbox before they happen.
* :mod:`.certificates` - the serving certificate.
* :mod:`.threads` - long work outside the event loop.
"""
