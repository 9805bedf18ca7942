"""Tables that the API server prints of objects, in tenant spelling."""

from collections.abc import Iterator

import pytest
from lnamespace.translate.bodies.cells import PRINTED_NAMES
from lnamespace.translate.objects.confinement.kinds import rules_of
from lnamespace.translate.objects.confinement.rules import MappedField

from tests.unit.test_translate_every_kind import KINDS

_STORAGE = "storage.k8s.io"
PRINTED = {
    ("", "persistentvolumes", "spec.csi.driver"): "",
    ("networking.k8s.io", "ingressclasses", "spec.controller"): "Controller",
    ("node.k8s.io", "runtimeclasses", "handler"): "Handler",
    ("resource.k8s.io", "resourceslices", "spec.driver"): "Driver",
    ("resource.k8s.io", "resourceslices", "spec.nodeName"): "Node",
    (_STORAGE, "csinodes", "spec.drivers.*.name"): "",
    (_STORAGE, "storageclasses", "provisioner"): "Provisioner",
    (_STORAGE, "volumeattachments", "spec.attacher"): "Attacher",
    (_STORAGE, "volumeattachments", "spec.nodeName"): "Node",
    (_STORAGE, "volumeattributesclasses", "driverName"): "DriverName",
}
"""The column in which Kubernetes prints a field (pkg/printers/internalversion/printers.go); empty
if it prints it in none."""


def mapped() -> Iterator[tuple[str, str, str]]:
    """Give every field that is written in another way upstream."""
    for _, resource in KINDS.values():
        for rule in rules_of(resource):
            if isinstance(rule, MappedField):
                yield resource.group, resource.plural, ".".join(rule.path)


@pytest.mark.parametrize("field", sorted(set(mapped())), ids=".".join)
def test_every_prefixed_field_in_a_printed_column_is_translated(
    field: tuple[str, str, str],
) -> None:
    """Of ResourceSlices the driver and the node were printed with it."""
    group, plural, _ = field
    column = PRINTED[field]
    assert not column or column in PRINTED_NAMES[group, plural]
