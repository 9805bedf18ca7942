"""What an LNamespace is: types, names and rules. Pure.

* :mod:`~lnamespace.model.subject` - who can be an entry of a list, and until when.
* :mod:`~lnamespace.model.lnamespace` - the types of the API; objects are decoded into them.
* :mod:`~lnamespace.model.v1alpha1`, :mod:`~lnamespace.model.conversion` - the older version.
* :mod:`~lnamespace.model.rules` - which names, entries and texts are allowed.
* :mod:`~lnamespace.model.names` - the names of the objects of an LNamespace.
* :mod:`~lnamespace.model.profile` - profiles, as the platform team writes them.
* :mod:`~lnamespace.model.crd` - the CustomResourceDefinition, generated from all that.
"""
