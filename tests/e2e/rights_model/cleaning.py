"""Takes away what a play that failed has left, so that the next one is not harmed by it."""

from tests.e2e.rights_model.books import LONG
from tests.e2e.rights_model.examiner import lnamespaces, marked
from tests.e2e.rights_model.model import Layout
from tests.e2e.rights_model.stage import Stage
from tests.e2e.support.api import NAMESPACES, Api, ApiError, Object, lns_path, ns_path, rbac_path
from tests.e2e.support.waiting import eventually

_PATIENCE = 20.0
"""Seconds after which what should go by itself is taken."""


def clean(stage: Stage) -> None:
    """Have everything run and nothing be there, by whatever means."""
    stage.start()
    if stage.layout is not Layout.GROUP:
        stage.upgrade(Layout.GROUP)
        stage.start()
    admin = stage.admin
    for item in lnamespaces(admin):
        path = lns_path(item["metadata"]["name"])
        admin.patch(path, {"spec": {"deletionProtection": False}, "metadata": {"finalizers": None}})
        admin.remove(path)
    for item in admin.items(NAMESPACES):
        if item["metadata"]["name"].startswith("play-"):
            admin.remove(ns_path(item["metadata"]["name"]))
    try:
        eventually(lambda: not [*marked(admin)], _PATIENCE, tick=0.2)
    except AssertionError:
        for kind, item in marked(admin):
            _take(admin, kind, item)
    eventually(lambda: not [*marked(admin)], LONG, tick=0.2)


def _take(admin: Api, kind: str, item: Object) -> None:
    metadata = item["metadata"]
    if kind == "namespaces":
        path = ns_path(metadata["name"])
    else:
        path = rbac_path(kind, metadata["name"], metadata.get("namespace", ""))
    try:
        admin.patch(path, {"metadata": {"finalizers": None}})
        admin.delete(path)
    except ApiError as error:
        if error.status != 404:
            raise
