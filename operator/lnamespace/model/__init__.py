"""LNamespaces and LClusters: their types, names and rules. Pure.

* :mod:`~lnamespace.model.subject` - who can be an entry of a list, and until when.
* :mod:`~lnamespace.model.lnamespace` - the types of the API; objects are decoded into them.
* :mod:`~lnamespace.model.billing` - the types of who pays, for LNamespaces and LClusters.
* :mod:`~lnamespace.model.lcluster` - the same of LClusters, and the names that they may have.
* :mod:`~lnamespace.model.v1alpha1`, :mod:`~lnamespace.model.conversion` - the older version.
* :mod:`~lnamespace.model.rules` - which names, entries and texts are allowed.
* :mod:`~lnamespace.model.names` - the names of the objects of LNamespaces and LClusters.
* :mod:`~lnamespace.model.quantities` - quantities of Kubernetes as whole numbers.
* :mod:`~lnamespace.model.profile` - profiles, as the platform team writes them.
* :mod:`~lnamespace.model.schemas` - the schema of a type, as Kubernetes takes it.
* :mod:`~lnamespace.model.crd`, :mod:`~lnamespace.model.lcluster_crd` - the
  CustomResourceDefinitions, generated from these.
"""
