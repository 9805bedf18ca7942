"""The certificate that the webhook serves: made, shared by its replicas, trusted and renewed.

* :mod:`.keypairs` - make, read and check a key pair with its CA; pure.
* :mod:`.rotation` - when the next pair takes over; pure.
* :mod:`.secret` - the Secret by which the replicas share pairs, as manifests; pure.
* :mod:`.trust` - the loop that keeps the Secret, the caBundles and the served pair up to date.
* :mod:`.tls` - the TLS context, which changes its certificate while it serves; instead of that
  loop, a pair in files that another program renews (cert-manager).
"""
