"""A watch of the Namespaces that belong to LNamespaces."""

from lnamespace.gateway.mine.rights import NamespaceRights
from lnamespace.gateway.tenants.namespaces import WatchedObject
from lnamespace.gateway.tenants.watched_parts import PartReader
from lnamespace.kube.client import Client
from lnamespace.kube.objects import MANAGED_BY
from lnamespace.kube.reflector import Reflector
from lnamespace.kube.resources import NAMESPACE
from lnamespace.kube.store import Store
from lnamespace.model.names import Names


def reflect_lnamespaces(
    client: Client, names: Names, rights: NamespaceRights
) -> Reflector[WatchedObject]:
    """Return a reflector of labelled Namespaces that updates ``rights``."""

    def changed(old: WatchedObject | None, new: WatchedObject | None) -> None:
        rights.update_namespace(old, new, store.last_version)

    store = Store[WatchedObject](changed)
    # Tenants choose the labels of Namespaces in their LClusters, so these are left out.
    selector = f"{MANAGED_BY}={names.prefix},!{names.lcluster_label}"
    read = PartReader(names.lcluster_label).metadata
    return Reflector(client, NAMESPACE, store, read, selector)
