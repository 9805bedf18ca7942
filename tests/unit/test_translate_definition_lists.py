"""A definition of a tenant adds no more to discovery than others do."""

from typing import Any

import pytest
from lnamespace.translate.objects.confinement.definition_lists import MAX_NAMES, MAX_VERSIONS
from lnamespace.translate.protocol.status import Refused

from tests.unit.test_translate_hostile_patches import sent

CRDS = "customresourcedefinitions"


def listed(path: str, number: int) -> Any:
    names = [f"n{each}" for each in range(number)]
    lists = {
        "spec.versions": {"versions": [{"name": each} for each in names]},
        "spec.names.shortNames": {"names": {"shortNames": names}},
        "spec.names.categories": {"names": {"categories": names}},
    }
    body = {"spec": lists[path]}
    return sent(CRDS, "patch", "application/merge-patch+json", body)


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("spec.versions", MAX_VERSIONS),
        ("spec.names.shortNames", MAX_NAMES),
        ("spec.names.categories", MAX_NAMES),
    ],
)
def test_versions_and_names_of_a_definition_are_few(path: str, most: int) -> None:
    """In discovery each version has all names, and every client of the cluster reads it."""
    assert listed(path, most)
    with pytest.raises(Refused, match=f"{path}.*must have at most {most} items"):
        listed(path, most + 1)
