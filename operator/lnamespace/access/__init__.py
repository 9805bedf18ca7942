"""What an LNamespace grants, as objects. Pure: values in, values out, no cluster.

* :mod:`~lnamespace.access.entries` - which entries of the lists count now, and what is wrong
  with those that do not.
* :mod:`~lnamespace.access.tenant` - the objects of one LNamespace.
* :mod:`~lnamespace.access.sudo` - how its sudoers come by their power, in two layouts.
* :mod:`~lnamespace.access.person` - the objects of one person, shared by their LNamespaces.
* :mod:`~lnamespace.access.ownership` - whose a Namespace is.
"""
