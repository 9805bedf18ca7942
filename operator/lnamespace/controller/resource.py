"""An LNamespace as stored in the cluster."""

import msgspec

from lnamespace.errors import ModelError
from lnamespace.kube import answers
from lnamespace.kube.objects import Key
from lnamespace.model.lnamespace import (
    LNamespace,
    Spec,
    Status,
    decode_lnamespace,
    head_decoder,
)


class CachedLNamespace(msgspec.Struct, frozen=True):
    """An LNamespace as last read; ``problem`` says why it could not be decoded."""

    key: Key
    version: int
    lns: LNamespace
    problem: str = ""

    def of_class(self, name: str) -> bool:
        """Return whether it is for controllers of that class."""
        return self.lns.spec.class_name == name

    @property
    def terminating(self) -> bool:
        """Return whether the LNamespace is being deleted and waits for a finalizer."""
        return self.lns.metadata.deletion_timestamp is not msgspec.UNSET

    @property
    def inputs(self) -> tuple[Spec, dict[str, str], bool]:
        """Return the inputs of a reconcile, without the status that it writes itself."""
        return self.lns.spec, self.lns.metadata.labels, self.terminating


class _Class(msgspec.Struct, frozen=True, rename="camel"):
    class_name: str = ""


_class = msgspec.json.Decoder(_Class)
_status = msgspec.json.Decoder(Status)


def read_lnamespace(raw: bytes | msgspec.Raw) -> CachedLNamespace:
    """Read an LNamespace; one that breaks its schema has a ``problem`` to report."""
    try:
        lns, problem = decode_lnamespace(raw), ""
    except ModelError as error:
        lns, problem = _without_spec(raw), str(error)
    return CachedLNamespace(
        ("", lns.name), answers.version_of(lns.metadata.resource_version), lns, problem
    )


def _without_spec(raw: bytes | msgspec.Raw) -> LNamespace:
    """Read only the status, which proves the owner of the Namespace, and the class.

    The lists are not known then, which is not the same as empty lists.
    """
    head = answers.decode(head_decoder, raw)
    return LNamespace(head.metadata, Spec(class_name=class_of(head.spec)), _status_of(head.status))


def class_of(spec: msgspec.Raw) -> str:
    """Return the class that a spec names; empty if it cannot be read."""
    try:
        return _class.decode(spec).class_name
    except msgspec.DecodeError:
        return ""


def _status_of(status: msgspec.Raw) -> Status:
    try:
        return _status.decode(status)
    except msgspec.DecodeError:
        return Status()
