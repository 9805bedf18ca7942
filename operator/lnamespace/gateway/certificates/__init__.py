"""Issue and verify certificates: the gateway's own, and those of people inside LClusters.

- :mod:`~lnamespace.gateway.certificates.tls`: the TLS contexts, and the CAs whose client
  certificates are accepted.
- :mod:`~lnamespace.gateway.certificates.serving_pairs`: the gateway's serving certificate.
- :mod:`~lnamespace.gateway.certificates.authorities`: the CA of each LCluster, below one root.
- :mod:`~lnamespace.gateway.certificates.signer`: signs approved requests, with a root that
  replicas share.
- :mod:`~lnamespace.gateway.certificates.signing_requests`: the certificate of a request, or its
  refusal; pure.
"""
