"""Answer what is more than a request passed on: what is written, streamed or made here.

- :mod:`~lnamespace.gateway.objects.content`: how much may be made in an LCluster, and until when.
- :mod:`~lnamespace.gateway.objects.applies`: server-side applies of kinds to which the gateway
  adds fields.
- :mod:`~lnamespace.gateway.objects.requesters`: who asked for a certificate.
- :mod:`~lnamespace.gateway.objects.volumes`: whose a PersistentVolume is that a provisioner made.
- :mod:`~lnamespace.gateway.objects.streams`: logs, exec, attach, port-forward and proxy, byte for
  byte.
- :mod:`~lnamespace.gateway.objects.made`: nodes and other objects that the gateway makes itself.
"""
