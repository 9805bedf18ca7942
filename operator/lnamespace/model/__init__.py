"""What an LNamespace is. Pure; the ground floor.

* :mod:`~lnamespace.model.subject` - who can stand in a list, and until when.
* :mod:`~lnamespace.model.lnamespace` - the types of the API; objects are decoded into them.
* :mod:`~lnamespace.model.rules` - what it may be called and whom it may list.
* :mod:`~lnamespace.model.names` - what its objects are called.
* :mod:`~lnamespace.model.crd` - the CustomResourceDefinition, generated from all that.
"""
