"""What Kubernetes' garbage collector knows."""

from uuid import uuid4

from tests.e2e.support.api import NAMESPACES, Api, ns_path
from tests.e2e.support.waiting import PATIENCE, eventually


def wait_for_collector(admin: Api) -> None:
    """Wait until the garbage collector knows every Namespace that exists now.

    It learns of Namespaces in their order. One that is made now and whose owner does not exist is
    deleted by it, and that is after it has learned of all that were made before. A Namespace that
    it does not know is not spared when its owner is deleted with `--cascade=orphan`: the collector
    finds nothing to spare, meets the Namespace later, and deletes it, for its owner is gone.
    """
    name = f"collected-{uuid4().hex[:8]}"
    nobody = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "name": name,
        "uid": str(uuid4()),
    }
    admin.create(NAMESPACES, {"metadata": {"name": name, "ownerReferences": [nobody]}})

    def collected() -> bool:
        found = admin.find(ns_path(name))
        return found is None or "deletionTimestamp" in found["metadata"]

    eventually(collected, 2 * PATIENCE, "the garbage collector does nothing", tick=0.1)
