"""Write what a cluster's nodes write, also when nobody uses the cluster: see `bench.starvation`."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.support.api import Api

NODES, _EVERY = 100, 10.0
"""A kubelet renews the lease of its node every ten seconds."""
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


@contextmanager
def renewing_leases(admin: Api) -> Iterator[None]:
    """Renew the leases of so many nodes, one after the other, for as long as the block runs.

    The API server answers a list from its cache, once that has all that was written before. After
    a write of whatever kind it asks etcd for that, once in 100 ms (KEP-2340). So lists take up to
    100 ms in a cluster with nodes, and one in which nobody writes is no measure of calm.
    """
    for number in range(NODES):
        spec = {"holderIdentity": f"node-{number}", "leaseDurationSeconds": 40}
        admin.create(_LEASES, {"metadata": {"name": f"node-{number}"}, "spec": spec})
    done = threading.Event()
    thread = threading.Thread(target=_renew, args=(admin, done))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _renew(admin: Api, done: threading.Event) -> None:
    number = 0
    while not done.wait(_EVERY / NODES):
        number += 1
        changed = {"spec": {"leaseTransitions": number}}
        admin.patch(f"{_LEASES}/node-{number % NODES}", changed)
