"""An LCluster as stored in the cluster."""

import msgspec

from lnamespace.controller.resource import class_of
from lnamespace.errors import ModelError
from lnamespace.kube import answers
from lnamespace.kube.objects import Key
from lnamespace.model.lcluster import LCluster, LClusterSpec, LClusterStatus, decode_lcluster
from lnamespace.model.lnamespace import head_decoder

_status = msgspec.json.Decoder(LClusterStatus)


class CachedLCluster(msgspec.Struct, frozen=True):
    """An LCluster as last read; ``problem`` says why it could not be decoded."""

    key: Key
    version: int
    lcluster: LCluster
    problem: str = ""

    def of_class(self, name: str) -> bool:
        """Return whether it is for controllers of that class."""
        return self.lcluster.spec.class_name == name

    @property
    def terminating(self) -> bool:
        """Return whether it is being deleted."""
        return self.lcluster.metadata.deletion_timestamp is not msgspec.UNSET

    @property
    def inputs(self) -> tuple[LClusterSpec, tuple[str, ...], bool]:
        """Return the inputs of a reconcile, without the status that it writes itself."""
        return self.lcluster.spec, self.lcluster.metadata.finalizers, self.terminating


def read_lcluster(raw: bytes | msgspec.Raw) -> CachedLCluster:
    """Read an LCluster; one that breaks its schema has a ``problem`` to report."""
    try:
        lcluster, problem = decode_lcluster(raw), ""
    except ModelError as error:
        lcluster, problem = _without_spec(raw), str(error)
    version = answers.version_of(lcluster.metadata.resource_version)
    return CachedLCluster(("", lcluster.name), version, lcluster, problem)


def _without_spec(raw: bytes | msgspec.Raw) -> LCluster:
    head = answers.decode(head_decoder, raw)
    try:
        status = _status.decode(head.status)
    except msgspec.DecodeError:
        status = LClusterStatus()
    return LCluster(head.metadata, LClusterSpec(class_name=class_of(head.spec)), status)
