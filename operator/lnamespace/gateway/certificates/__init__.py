"""Make and check certificates: the gateway's own, and those of people inside LClusters.

- :mod:`~lnamespace.gateway.certificates.tls`: the contexts in which TLS begins, and the CAs whose
  client certificates are taken.
- :mod:`~lnamespace.gateway.certificates.serving_pairs`: the key pair by which clients know the
  gateway.
- :mod:`~lnamespace.gateway.certificates.authorities`: the CA of each LCluster, below one root.
- :mod:`~lnamespace.gateway.certificates.signer`: signs approved requests, with a root that
  replicas share.
- :mod:`~lnamespace.gateway.certificates.signing_requests`: what is signed of a request, and when
  it is refused; pure.
"""
