"""What the door knows of who has how many."""

from typing import Any

import msgspec
import pytest
from lnamespace.access.limit import Limits
from lnamespace.admission.holdings import Holdings, read
from lnamespace.admission.validate import validate

from tests.unit.support.admission import ALICE, POLICY, creation, known, update

LIMITS = Limits(2, {"system:serviceaccounts:ci": 1})
REFUSAL = 'exceeded limit: "alice" has 2 of 2 LNamespaces'


def manifest(name: str, version: int, spec: Any = None) -> bytes:
    metadata = {"name": name, "resourceVersion": str(version)}
    return msgspec.json.encode({"metadata": metadata, "spec": spec})


def test_what_is_kept_is_who_asked() -> None:
    kept = read(manifest("a", 7, {"requester": "alice", "users": [{"name": "bob"}]}))
    assert (kept.key, kept.version, kept.requester) == (("", "a"), 7, "alice")
    assert read(manifest("a", 7)).requester == ""


def test_it_counts_what_comes_and_goes() -> None:
    holdings = Holdings(LIMITS)
    for version, name in enumerate(("a", "b"), 1):
        assert not holdings.exceeded("alice")
        holdings.store.put(read(manifest(name, version, {"requester": "alice"})))
    assert holdings.exceeded("alice").startswith(REFUSAL)
    assert not holdings.exceeded("bob")
    holdings.store.put(read(manifest("b", 3, {"requester": "alice", "users": []})))
    holdings.store.remove(("", "b"), 4)
    assert not holdings.exceeded("alice")


def test_the_service_accounts_of_a_namespace_are_counted_together() -> None:
    holdings = Holdings(LIMITS)
    one = manifest("a", 1, {"requester": "system:serviceaccount:ci:one"})
    holdings.store.put(read(one))
    assert holdings.exceeded("system:serviceaccount:ci:other")


def test_who_may_have_none_is_refused_before_anything_is_known() -> None:
    assert "is a ServiceAccount" in Holdings(LIMITS).exceeded("system:serviceaccount:a:b")


@pytest.mark.parametrize("administrator", [True, False])
def test_only_a_creation_is_refused_for_it(administrator: bool) -> None:
    circumstances = known(exceeded="exceeded limit: x", administrator=administrator)
    spec = {"managers": [{"name": ALICE}], "requester": ALICE}
    made = validate(creation(spec), POLICY, circumstances)
    assert "spec.requester: Forbidden: exceeded limit: x" in map(str, made.errors)
    assert made.exceeded
    changed = validate(update(spec, spec), POLICY, circumstances)
    assert not changed.exceeded
    assert not any("exceeded" in str(error) for error in changed.errors)
