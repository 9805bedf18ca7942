"""Objects that are so long that etcd takes not a byte more."""

import json
from collections.abc import Callable

from tests.e2e.support.api import Api, ApiError, Object, unless
from tests.e2e.support.waiting import eventually

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fill(write: Callable[[int], object], fits: int = 1_500_000, refused: int = 1_600_000) -> None:
    """Write an object with ever more bytes until etcd takes not one more.

    Most writes are too long: through the gateway a definition changes only so often.
    """
    while refused - fits > 1:
        length = refused - max((refused - fits) // 5, 1)
        if _is_taken(write, length):
            fits = length
        else:
            refused = length
    write(fits)


def fill_definition(api: Api, wanted: Object) -> None:
    """Make a definition so long that etcd takes not a byte more."""

    path = f"{DEFINITIONS}/{wanted['metadata']['name']}"
    # The API server writes to a new one.
    eventually(lambda: '"Established"' in json.dumps(api.get(path)["status"]))

    def described(length: int) -> None:
        first, *rest = wanted["spec"]["versions"]
        schema = {"openAPIV3Schema": _SCHEMA | {"description": "x" * length}}
        versions = [first | {"schema": schema}, *rest]
        change(api, wanted | {"spec": wanted["spec"] | {"versions": versions}})

    fill(described)


def change(api: Api, wanted: Object) -> None:
    """Replace the specification of a definition."""
    path = f"{DEFINITIONS}/{wanted['metadata']['name']}"

    def replace() -> None:
        api.replace(path, api.get(path) | {"spec": wanted["spec"]})

    eventually(lambda: unless("Conflict", replace))  # Kubernetes writes conditions meanwhile


def _is_taken(write: Callable[[int], object], length: int) -> bool:
    try:
        write(length)
    except ApiError as error:
        if "request is too large" in error.message or "larger than max" in error.message:
            return False
        raise
    return True
