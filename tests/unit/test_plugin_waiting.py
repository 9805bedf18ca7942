"""What a command says that waits for a change, of an LNamespace that goes meanwhile."""

import json
from dataclasses import dataclass
from typing import Any, cast

import pytest
from lnamespace.plugins.cluster.kubectl import Reply
from lnamespace.plugins.cluster.waiting import wait_in_force
from lnamespace.plugins.model.lnamespaces import LNAMESPACE
from lnamespace.plugins.runtime.errors import PluginError

STORED = {"metadata": {"name": "team-a", "uid": "first", "generation": 2}}
GONE = Reply(1, "", 'Error from server (NotFound): lnamespaces "team-a" not found\n')
ANOTHER = Reply(0, json.dumps({"metadata": {"name": "team-a", "uid": "second"}}), "")


@dataclass
class Kubectl:
    """A kubectl that always has the same reply."""

    answer: Reply

    def start_get(self, path: str) -> "Kubectl":
        assert path.endswith("/lnamespaces/team-a")
        return self

    def reply(self) -> Reply:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "more"), [(GONE, ""), (ANOTHER, ", and another has its name")], ids=["gone", "new"]
)
def test_a_change_of_what_was_deleted_meanwhile_is_not_called_stored(
    answer: Reply, more: str
) -> None:
    """It said that the change is stored, and advised to describe what was not there."""
    with pytest.raises(PluginError) as raised:
        wait_in_force(cast(Any, Kubectl(answer)), STORED, STORED, 5, LNAMESPACE)
    assert str(raised.value) == f'LNamespace "team-a" was deleted while waiting for it{more}'
