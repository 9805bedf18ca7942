"""What Kubernetes' garbage collector knows."""

from uuid import uuid4

from tests.e2e.support.api import NAMESPACES, Api, ns_path
from tests.e2e.support.waiting import PATIENCE, eventually


def wait_for_collector(admin: Api) -> None:
    """Wait until the garbage collector knows every Namespace that exists now.

    The collector receives Namespaces in order. It deletes a Namespace that is made now with an
    owner that does not exist, and by then it knows all older ones. A test that deletes an owner
    with `--cascade=orphan` needs that: the collector would not orphan a Namespace that it does not
    know, and would delete it later, because its owner is gone.
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
