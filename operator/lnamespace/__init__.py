"""A namespace for every team on a shared Kubernetes cluster, in one command.

The packages are floors; each imports only from floors below it:

* :mod:`lnamespace.cli` - the command line, the top floor (:mod:`lnamespace.console` starts it).
* :mod:`lnamespace.controller` - the loop that makes the cluster as the LNamespaces say.
* :mod:`lnamespace.access` - what an LNamespace grants, as manifests; pure.
* :mod:`lnamespace.model` - what an LNamespace is; pure.
  :mod:`lnamespace.kube` - the cluster: client, reflector, plan; knows no LNamespace.
  :mod:`lnamespace.settings` - every option, once.

:mod:`lnamespace.plugins` stands apart: the kubectl plugins, on the standard library alone.
"""
