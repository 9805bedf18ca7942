"""Compare the chart's policies and webhook configurations with the cluster.

No object reports that such a policy was deleted or weakened. The chart therefore writes them into a
file, and the controller compares the file with the cluster.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from lnamespace.errors import ClusterError, NotFound
from lnamespace.files.changing import ChangingFile
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client
from lnamespace.kube.resources import ADMISSION_RESOURCES
from lnamespace.metrics.controller import ControllerMetrics

PAUSE = 30.0
"""Seconds between two comparisons."""

_RESOURCES = {each.kind: each for each in ADMISSION_RESOURCES}

_DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "matchPolicy": ("Equivalent",),
    "namespaceSelector": ({},),
    "objectSelector": ({},),
    "reinvocationPolicy": ("Never",),
    "scope": ("*",),
}
"""Defaults that the API server fills in. Any other difference is a change by somebody."""

_CONTENT = ("spec", "webhooks")

log = logging.getLogger(__name__)

Object = dict[str, Any]
_found = msgspec.json.Decoder(Object)


def find_difference(wanted: Any, found: Any, path: str = "") -> str:
    """Return the path at which an object of the cluster differs from its definition; else empty.

    ``caBundle`` is written by the webhook itself. A webhook's ``namespaceSelector`` does not apply
    to cluster-scoped objects such as LNamespaces, and AKS adds its own to every configuration.
    """
    if isinstance(wanted, dict) and isinstance(found, dict):
        return next(_find_differences(wanted, found, path), "")
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        parts = (
            find_difference(one, other, f"{path}[{index}]")
            for index, (one, other) in enumerate(zip(wanted, found, strict=True))
        )
        return next(filter(None, parts), "")
    return "" if wanted == found else path


def _find_differences(wanted: Object, found: Object, path: str) -> Iterator[str]:
    for key in {**wanted, **found}:
        where = f"{path}.{key}" if path else key
        if key == "caBundle" or (key == "namespaceSelector" and path.startswith("webhooks")):
            continue
        if key not in wanted:
            if found[key] not in _DEFAULTS.get(key, ()):
                yield where
        elif part := find_difference(wanted[key], found.get(key), where):
            yield part


def describe_drift(wanted: Object, found: Object | None) -> str:
    """Return how a policy or webhook configuration differs from its definition; else empty."""
    if found is None:
        return "it is not there"
    metadata = found.get("metadata")
    if isinstance(metadata, dict) and metadata.get("deletionTimestamp"):
        return "it is being deleted"
    for part in _CONTENT:
        if where := find_difference(wanted.get(part), found.get(part), part):
            return f"it was changed: {where}"
    return ""


class AdmissionDriftCheck:
    """A periodic comparison of the objects of a file with the cluster; without a path, of none."""

    def __init__(self, client: Client, path: str, metrics: ControllerMetrics) -> None:
        self._client = client
        self._file = ChangingFile(Path(path)) if path else None
        self._metrics = metrics
        self._guards: list[Object] = []
        self._problems: dict[str, str] = {}

    async def run(self) -> None:
        """Compare for ever; a cluster that does not answer is asked again."""
        while self._file:
            try:
                await self.compare()
            except (ClusterError, OSError, msgspec.MsgspecError) as error:
                log.warning("the guards cannot be compared", extra={"error": str(error)})
            await asyncio.sleep(PAUSE)

    async def compare(self) -> None:
        """Compare once, and record what is missing.

        Raises
        ------
        ClusterError
            The cluster did not answer. The known problems stay.
        OSError, MsgspecError
            The file cannot be used.
        """
        if self._file and (content := self._file.changed()) is not None:
            self._guards = msgspec.json.decode(content, type=list[Object])
            self._metrics.guards_missing.clear()
        found = {_title(guard): await self._describe_drift(guard) for guard in self._guards}
        for guard, wrong in found.items():
            self._metrics.guards_missing.labels(guard).set(bool(wrong))
            _record(guard, wrong, self._problems.get(guard, ""))
        self._problems = found

    async def _describe_drift(self, guard: Object) -> str:
        resource = _RESOURCES[guard["kind"]]
        try:
            answer = await self._client.get(resource.path(guard["metadata"]["name"]))
        except NotFound:
            return describe_drift(guard, None)
        return describe_drift(guard, decode(_found, answer))


def _title(guard: Object) -> str:
    return f"{guard['kind']} {guard['metadata']['name']}"


def _record(guard: str, wrong: str, before: str) -> None:
    """Log each problem once, and that it is over."""
    if wrong and wrong != before:
        log.error("a guard is missing", extra={"guard": guard, "problem": wrong})
    if before and not wrong:
        log.info("a guard is back", extra={"guard": guard})
