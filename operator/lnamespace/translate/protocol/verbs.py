"""Verbs of requests, as Kubernetes' authorization has them, and subresources that are streams."""

READ_VERBS = frozenset({"get", "list", "watch"})
LISTING_VERBS = frozenset({"list", "watch"})
DELETION_VERBS = frozenset({"delete", "deletecollection"})
SELECTING_VERBS = LISTING_VERBS | {"deletecollection"}
"""The verbs for all objects that a request selects; each is answered by a list."""
COLLECTION_VERBS = SELECTING_VERBS | {"create"}
"""The verbs for paths without the name of an object."""
OBJECT_VERBS = frozenset({"get", "update", "patch", "delete"})
MANAGED_VERBS = frozenset({"create", "update", "patch"})
"""The verbs of writes that a field manager makes."""

CONNECTIONS = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose bodies are no objects, but streams of bytes; a failure is a Status."""
