"""No definition changes so often that nobody can list its kind."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from lnamespace.gateway.objects.definition_pace import DefinitionPace
from lnamespace.translate.protocol.status import Refused

from tests.unit.support.translation import ACME, asked


@dataclass
class Call:
    """A call of a tenant."""

    request: Any
    view: Any = ACME


def call(verb: str = "patch", name: str = "widgets.example.com", subresource: str = "") -> Any:
    request = asked("customresourcedefinitions", verb, name=name, subresource=subresource)
    return cast("Any", Call(request))


@dataclass
class Definitions:
    """The generations of definitions, as a watch has them."""

    generations: dict[str, int] = field(default_factory=dict)

    async def change(self, pace: DefinitionPace, sent: Any = None, *, spec: bool = True) -> float:
        """Write a definition; return how long that waited."""
        sent = sent or call()
        began = asyncio.get_running_loop().time()
        async with pace.paced(sent):
            name = sent.view.crd_name_up(sent.request.name)
            self.generations[name] = self.generations.get(name, 1) + spec
        return asyncio.get_running_loop().time() - began

    def pace(self, seconds: float = 0.1, patience: float = 5.0) -> DefinitionPace:
        return DefinitionPace(lambda name: self.generations.get(name, 1), seconds, patience)


async def test_a_definition_that_changes_all_the_time_waits() -> None:
    """Six changes a second kept all Namespaces of the cluster from being deleted."""
    seen = Definitions()
    pace = seen.pace()
    waits = [await seen.change(pace) for _ in range(8)]
    assert max(waits[:5]) < 0.05
    assert min(waits[5:]) > 0.05
    # Another one does not.
    assert await seen.change(pace, call(name="gadgets.example.com")) < 0.05


async def test_writes_that_change_no_specification_do_not_wait() -> None:
    seen = Definitions()
    pace = seen.pace(seconds=60)
    for _ in range(20):
        await seen.change(pace, spec=False)
        await seen.change(pace, call(subresource="status"), spec=False)
        await seen.change(pace, call("delete"), spec=False)


async def test_changes_at_the_same_time_are_refused_in_the_end() -> None:
    seen = Definitions()
    pace = seen.pace(seconds=0.2, patience=0.3)
    changes = [seen.change(pace) for _ in range(12)]
    answers = await asyncio.gather(*changes, return_exceptions=True)
    refused = [each for each in answers if isinstance(each, Refused)]
    assert 3 <= len(refused) <= 6
    assert {each.status.code for each in refused} == {429}


async def test_changes_by_another_process_make_nobody_wait_for_long() -> None:
    seen = Definitions({"widgets.acme-example.com": 7})
    pace = seen.pace()
    await seen.change(pace)
    seen.generations["widgets.acme-example.com"] = 900
    assert await seen.change(pace) < 0.3
