"""The cluster: how to ask it, how to watch it, how to make it as it should be.

Knows Kubernetes and nothing of LNamespaces. In the order in which they build on each other:

* :mod:`~lnamespace.kube.resources` - kinds, and where the API server keeps them.
* :mod:`~lnamespace.kube.objects` - the parts of an object that we manage, as values.
* :mod:`~lnamespace.kube.backoff` - how long to wait before the next try.
* :mod:`~lnamespace.kube.client` - one request, one answer, typed errors.
* :mod:`~lnamespace.kube.store` - what we last knew of the objects, and whether news is news.
* :mod:`~lnamespace.kube.reflector` - list and watch, which keep a store true.
* :mod:`~lnamespace.kube.plan` - from what is and what should be to what is to be done; pure.
* :mod:`~lnamespace.kube.apply` - does it.
"""
