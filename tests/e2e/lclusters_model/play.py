"""Plays moves on the cluster beside the model, and fails where the two part."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.e2e.lclusters_model.doing import do
from tests.e2e.lclusters_model.exam import Check, checks, strays
from tests.e2e.lclusters_model.moves import AnyMove, Rest, described
from tests.e2e.lclusters_model.stage import LClusterStage
from tests.e2e.lclusters_model.world import World
from tests.e2e.rights_model.books import LONG
from tests.e2e.rights_model.history import MARGIN
from tests.e2e.rights_model.play import Difference

_TOLD = 12
_BREATH = 0.3
"""Seconds until what was not yet as it should be is looked at again."""


@dataclass
class Played:
    """What a play came to: its moves and how each ended, and what was asked."""

    lines: list[str] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    answers: int = 0
    done: int = 0
    refused: int = 0

    def __str__(self) -> str:
        return "\n".join(self.lines)


class LClusterPlay:
    """One play."""

    def __init__(self, stage: LClusterStage, patience: float = LONG, shares: int = 1) -> None:
        stage.next_play()
        self._stage = stage
        self._patience = patience
        self._shares = shares
        self._worlds = [World()]
        self._since = time.time()
        self.begun = 0
        self.report = Played()

    def run(self, moves: Iterable[AnyMove]) -> Played:
        """Play the moves.

        Raises
        ------
        Difference
            Where the cluster did otherwise than the model; the report says what was played.
        """
        for move in moves:
            self.begun += 1
            self._move(move)
        return self.report

    def _move(self, move: AnyMove) -> None:
        now, world = time.time(), self._worlds[-1]
        expected = self._expected(move, now)
        next_end = _next_end(world, now)
        done = do(self._stage, move, now, next_end, awaited=expected is True or world.away)
        self.report.lines.append(f"{described(move)}{'' if done else ' (refused)'}")
        if expected is not None and done != expected:
            raise Difference(f"{described(move)}: {'done' if done else 'refused'}, which is wrong")
        if done:
            self._worlds.append(move.after(world, now))
        self.report.done += done
        self.report.refused += not done
        if isinstance(move, Rest):
            self._rest()

    def _expected(self, move: AnyMove, now: float) -> bool | None:
        """Return whether it must be done; None where nobody can tell yet."""
        moments = (self._since, now + MARGIN)
        said = {move.allowed(world, at) for world in self._worlds for at in moments}
        if said == {False}:
            return False
        world = self._worlds[-1]
        unsure = world.away or world.fading & move.touched
        return True if said == {True} and not unsure else None

    def _share(self, every: Sequence[Check]) -> Sequence[Check]:
        """Return all that is to be looked at; of the many access reviews a share, in turn."""
        turn = len(self.report.settled) % self._shares
        numbered = enumerate(every)
        return [each for n, each in numbered if not each.review or n % self._shares == turn]

    def _rest(self) -> None:
        """Wait until everything is as the model says."""
        started, world = time.monotonic(), self._worlds[-1]
        asked: Sequence[Check] | None = ()  # first the objects alone
        while True:
            since = time.time()
            every = self._share(checks(self._stage, world, since))
            doubts = [(each, each.doubt()) for each in (every if asked is None else asked)]
            doubtful = [each for each, doubt in doubts if doubt]
            wrong = [doubt for _, doubt in doubts if doubt] or strays(self._stage, world)
            if not wrong and asked is None:
                break
            if time.monotonic() - started > self._patience:
                told = [
                    *wrong[:_TOLD],
                    *([f"and {len(wrong) - _TOLD} more"] if wrong[_TOLD:] else []),
                ]
                lines = "".join(f"\n  {each}" for each in told)
                raise Difference(f"{self._patience:g} s later it is not as it should be:{lines}")
            asked = _again(every, doubtful) if wrong else None
            time.sleep(_BREATH if wrong else 0)
        self._worlds, self._since = [world], since
        self.report.settled.append(time.monotonic() - started)
        self.report.answers += len(every)


def _again(every: Sequence[Check], doubtful: Sequence[Check]) -> Sequence[Check]:
    """Return what was wrong, as it is to be now; nothing where only objects are on their way."""
    names = {each.what for each in doubtful}
    return [each for each in every if each.what in names]


def _next_end(world: World, now: float) -> float:
    ends = (
        entry.ends
        for inside in world.lclusters.values()
        for entries in vars(inside.lists).values()
        for entry in entries
        if now < entry.ends < float("inf")
    )
    return min(ends, default=now)
