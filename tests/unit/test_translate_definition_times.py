"""Times in definitions that the API server could not read again."""

from typing import Any

import pytest
from lnamespace.translate.objects.confinement.definition_times import ReadableTimes
from lnamespace.translate.objects.confinement.rules import ConfinedBody
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME

CRD = ResourceType(
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)


def confine(time: Any) -> None:
    managed = {"metadata": {"managedFields": [{"time": time}]}}
    ReadableTimes().confine(ConfinedBody(managed, CRD, ACME))
    status = {"status": {"conditions": [{"type": "A"}, {"lastTransitionTime": time}]}}
    ReadableTimes().confine(ConfinedBody(status, CRD, ACME))


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-10:00", "0000-01-01T00:00:00+10:00"])
def test_a_year_that_is_another_in_utc_is_refused(time: str) -> None:
    with pytest.raises(Refused, match="in UTC"):
        confine(time)


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00Z", "9998-12-31T23:59:59-10:00", None, 5])
def test_other_times_are_left_to_the_api_server(time: Any) -> None:
    confine(time)
