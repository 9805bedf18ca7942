"""Plays steps on the cluster beside the model, and fails where the two part."""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.e2e.rights_model.accidents import Settle
from tests.e2e.rights_model.acting import act
from tests.e2e.rights_model.books import LONG, unwritten
from tests.e2e.rights_model.cast import ASKED
from tests.e2e.rights_model.examiner import (
    hear,
    lnamespaces,
    wrong_answers,
    wrong_objects,
    wrong_statuses,
)
from tests.e2e.rights_model.history import History, Window
from tests.e2e.rights_model.lines import AnyStep, described, renamed
from tests.e2e.rights_model.model import World
from tests.e2e.rights_model.questions import Question, questions
from tests.e2e.rights_model.sampler import Sampler
from tests.e2e.rights_model.stage import Stage
from tests.e2e.rights_model.steps import Need

_TOLD = 12
"""So many differences are told of all that there may be."""

_BREATH = 0.1
"""Seconds until what was not yet as it should be is looked at again."""

_COLLECTING = 15.0
"""Seconds after which a Namespace whose owner is gone counts as overlooked.

The collector may only be late, for its watches come back up to a minute after several crashes of
the API server; then it does no harm to start it anew.
"""


class Difference(AssertionError):
    """The cluster and the model part."""


@dataclass
class Report:
    """What a play came to: its steps and how each ended, what was asked and what overlooked."""

    lines: list[str] = field(default_factory=list)
    answers: int = 0
    settled: list[float] = field(default_factory=list)
    overlooked: int = 0

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Play:
    """One play, with names that no other play of the cluster has."""

    _numbers = itertools.count(1)

    def __init__(
        self,
        stage: Stage,
        names: Iterable[str],
        seed: int = 0,
        patience: float = LONG,
        shares: int = 1,
    ) -> None:
        self._stage = stage
        self._prefix = f"play-{next(self._numbers)}-"
        self._asked = tuple(questions(ASKED, [f"{self._prefix}{name}" for name in names]))
        self._history = History(layout=stage.layout)
        self._seed = seed
        self._patience = patience
        self._shares = shares
        self.begun = 0
        self.report = Report()

    def run(self, steps: Iterable[AnyStep], until: float = float("inf")) -> Report:
        """Play the steps, to the first settling after ``until`` (of the monotonic clock) at most.

        Raises
        ------
        Difference
            Where the cluster did otherwise than the model; the report says what was played.
        """
        sampler = Sampler(self._stage.rights, self._history, self._asked, self._seed)
        with sampler:
            for step in steps:
                self.begun += 1
                self._step(renamed(step, self._prefix))
                self._nothing(sampler.found)
                if isinstance(step, Settle) and time.monotonic() > until:
                    break
        self.report.answers += sampler.answers
        self._nothing(sampler.found)
        return self.report

    def _step(self, step: AnyStep) -> None:
        worlds, now = self._history.window().worlds, time.time()
        if step.idle(worlds, self._stage.parts):
            return
        before, expected = self._history.world, self._expected(step, now)
        if expected is not False:
            self._history.add(*step.after(before, now))
        done = act(self._stage, step, now, _next_end(before, now))
        self._note(step, "" if done else "refused")
        if expected is not None and done != expected:
            raise Difference(f"{described(step)}: {'done' if done else 'refused'}, which is wrong")
        if not done:
            self._history.add(before)
        if isinstance(step, Settle):
            self._settle()

    def _expected(self, step: AnyStep, now: float) -> bool | None:
        """Return whether it must succeed; None where it may or may not, for now."""
        window, parts = self._history.window(), self._stage.parts
        needs = tuple(step.needs(parts.layout))
        possible = step.possible(window.worlds, parts, now)
        if possible is False or not all(_can(window, need) for need in needs):
            return False
        certain = possible and all(window.must(who, powers) for who, powers in needs)
        return True if certain else None

    def _settle(self) -> None:
        """Wait until everything is as the lists say, and the API server answers so."""
        started = time.monotonic()
        self._stage.start()
        self._history.add(self._history.world.at_rest())
        hear(self._stage.admin, self._stage.rights)
        whole = self._whole()
        # First the objects alone, for what is on its way is seen in them; in the end all.
        asked: Sequence[Question] = ()
        while True:
            since = time.time()
            doubtful = self._doubtful(asked)
            wrong = [*self._wrong_objects(), *map(self._wrongly, doubtful)]
            if not wrong and asked is whole:
                break
            self._late(time.monotonic() - started, wrong)
            # All of it again only where nothing is known to be on its way: it is 1,600 requests.
            asked = doubtful if wrong else whole
            time.sleep(_BREATH if wrong else 0)
        self._history.settle(since)
        self.report.settled.append(time.monotonic() - started)
        self.report.answers += len(whole)

    def _whole(self) -> Sequence[Question]:
        """Return what must be answered rightly: all that is grave, and a share of the rest."""
        turn = len(self.report.settled) % self._shares
        numbered = enumerate(self._asked)
        return [each for n, each in numbered if each.grave or n % self._shares == turn]

    def _late(self, waited: float, wrong: Sequence[str]) -> None:
        if waited > self._patience:
            raise Difference("\n".join(self._told(wrong)))
        if waited > _COLLECTING:
            found = self._stage.collect()
            self.report.overlooked += len(found)
            self.report.lines += (f"the garbage collector overlooked {name}" for name in found)

    def _doubtful(self, asked: Sequence[Question]) -> list[Question]:
        stage = self._stage
        return wrong_answers(stage.rights, asked, self._history.world, time.time())

    def _wrongly(self, question: Question) -> str:
        may = self._history.world.may(question.who, question.powers, time.time())
        return f"{'is refused' if may else 'is allowed'}: {question}"

    def _wrong_objects(self) -> list[str]:
        admin, world = self._stage.admin, self._history.world
        found = lnamespaces(admin)
        wrong = wrong_statuses(found, world) or wrong_objects(admin, found, world, time.time())
        return wrong or unwritten(admin, found)

    def _told(self, wrong: Sequence[str]) -> Iterator[str]:
        yield f"{self._patience:g} s later the cluster is not as the lists say:"
        yield from (f"  {line}" for line in wrong[:_TOLD])
        if len(wrong) > _TOLD:
            yield f"  and {len(wrong) - _TOLD} more"

    def _note(self, step: AnyStep, outcome: str) -> None:
        self.report.lines.append(f"{described(step)}{f': {outcome}' if outcome else ''}")

    def _nothing(self, found: Sequence[str]) -> None:
        if found:
            raise Difference("meanwhile it was answered:\n" + "\n".join(f"  {f}" for f in found))


def _can(window: Window, need: Need) -> bool:
    who, powers = need
    return window.can(who, powers)


def _next_end(world: World, now: float) -> float:
    ends = (
        entry.ends
        for claim in world.claims.values()
        for entries in vars(claim.lists).values()
        for entry in entries
        if now < entry.ends < float("inf")
    )
    return min(ends, default=now)
