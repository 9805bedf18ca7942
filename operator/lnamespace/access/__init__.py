"""Pure functions from an LNamespace to the objects that should exist for it.

* :mod:`~lnamespace.access.conventions` - names, labels and choices of one instance.
* :mod:`~lnamespace.access.entries` - which entries of the lists are in force.
* :mod:`~lnamespace.access.ownership` - who owns the Namespace of an LNamespace's name.
* :mod:`~lnamespace.access.lnamespace` - all desired objects of one LNamespace, built of
  :mod:`~lnamespace.access.rbac` (roles and bindings), :mod:`~lnamespace.access.sudo` (two
  layouts), :mod:`~lnamespace.access.profiles` (quota, limits, network policy, labels) and
  :mod:`~lnamespace.access.cost_labels`.
* :mod:`~lnamespace.access.impersonator` - the objects of one person, shared by their LNamespaces.
* :mod:`~lnamespace.access.limit` - how many LNamespaces a requester may have.
* :mod:`~lnamespace.access.lcluster` - what an LCluster needs upstream;
  :mod:`~lnamespace.access.lcluster_content` - how many namespaces and definitions it may have.
* :mod:`~lnamespace.access.quota_refusals` - how the API server refuses what is over a quota.
* :mod:`~lnamespace.access.vetting` - whether the users' role gives more than was vetted.
"""
