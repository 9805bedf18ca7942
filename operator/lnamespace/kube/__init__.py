"""Everything that talks to the Kubernetes API server. Knows nothing of LNamespaces.

In the order in which the modules build on each other:

* :mod:`~lnamespace.kube.resources` - API resources and their URL paths;
  :mod:`~lnamespace.kube.media_types` - of objects and patches.
* :mod:`~lnamespace.kube.objects`, :mod:`~lnamespace.kube.metadata` - API objects as values.
* :mod:`~lnamespace.kube.state` - desired and observed objects, and whether they are equal.
* :mod:`~lnamespace.kube.plan` - compares them and returns actions, and their merge patches; pure.
* :mod:`~lnamespace.kube.json_pointer` - paths in JSON patches.
* :mod:`~lnamespace.kube.answers` - answers and refusals of the API server as values and errors.
* :mod:`~lnamespace.kube.client` - one request, one answer, typed errors;
  :mod:`~lnamespace.kube.connection` makes one of what is configured.
* :mod:`~lnamespace.kube.store` - a cache of the objects of one resource.
* :mod:`~lnamespace.kube.reflector` - list and watch, which keep a store up to date.
* :mod:`~lnamespace.kube.sockets` - notices a connection whose other end is gone.
* :mod:`~lnamespace.kube.apply` - carries out actions and updates the stores.
* :mod:`~lnamespace.kube.prefixed` - list and delete cluster-scoped objects by their prefix;
  :mod:`~lnamespace.kube.taken_names` - whether any has the prefix of something new.
* :mod:`~lnamespace.kube.lease` - leader election.
* :mod:`~lnamespace.kube.pages` - lists page by page, each of a bounded size.
* :mod:`~lnamespace.kube.served` - requests for a kind in the version in which it is served.
* :mod:`~lnamespace.kube.times` - times as the API writes them.
* :mod:`~lnamespace.kube.backoff` - delays between tries.
"""
