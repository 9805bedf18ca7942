"""Plays for as long as is asked: `make soak`.

Every play has its seed; a play that fails is played again and made shorter, and its steps are
left in a file with which it can be played once more.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.rights_model.cleaning import clean
from tests.e2e.rights_model.lines import AnyStep, described, from_line, to_line
from tests.e2e.rights_model.play import Play
from tests.e2e.rights_model.plot import KINDS, NAMES, ending, plot
from tests.e2e.rights_model.shrink import shrunk
from tests.e2e.rights_model.stage import Stage
from tests.e2e.support.cluster import running

_SHORT = 30.0
"""Seconds to wait for what never comes, where it is known already that something does not."""


def main() -> int:
    """Play on a cluster of our own; 1 if a play failed."""
    options = _options()
    # Told to end, it takes its cluster down as it does after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        tempfile.TemporaryDirectory(prefix="lnamespace-soak-") as folder,
        running(Path(folder)) as cluster,
        Stage(cluster) as stage,
    ):
        soak = Soak(stage, options)
        return soak.replay(options.replay) if options.replay else soak.run()


class Soak:
    """One play after another, until the time is up or one fails."""

    def __init__(self, stage: Stage, options: argparse.Namespace) -> None:
        self._stage = stage
        self._options = options
        self._until = time.monotonic() + 60 * options.minutes

    def run(self) -> int:
        """Play new plays."""
        seed = self._options.seed
        played = 0
        while time.monotonic() < self._until and (played < 1 or not self._options.once):
            steps = plot(seed, self._options.steps, self._kind(seed))
            if not self._play(seed, steps):
                return 1
            seed, played = seed + 1, played + 1
        _say(f"{played} plays, and the cluster was always as the lists said.")
        return 0

    def replay(self, file: Path) -> int:
        """Play the steps of a file."""
        steps = [from_line(line) for line in file.read_text().splitlines() if line]
        return 0 if self._play(0, [*steps, *ending()]) else 1

    def _kind(self, seed: int) -> str:
        """Return in which layout of sudo the play of a seed is; of all, if none is asked for."""
        kind: str = self._options.layout
        return kind or [*KINDS][seed % len(KINDS)]

    def _play(self, seed: int, steps: Sequence[AnyStep]) -> bool:
        _say(f"seed {seed}: {len(steps)} steps")
        play, started = Play(self._stage, NAMES, seed), time.monotonic()
        try:
            report = play.run(steps)
        except AssertionError as difference:
            _say(f"{play.report}\n\n{difference}\n")
            self._shrink(seed, [*steps][: play.begun])
            return False
        settled = sorted(report.settled)
        _say(
            f"  {time.monotonic() - started:.0f} s, {report.answers} answers, settled "
            f"{len(settled)} times: median {settled[len(settled) // 2]:.1f} s, "
            f"worst {settled[-1]:.1f} s, {report.overlooked} overlooked by the garbage collector",
        )
        return True

    def _shrink(self, seed: int, steps: Sequence[AnyStep]) -> None:
        until = time.monotonic() + 60 * self._options.shrink
        clean(self._stage)

        def fails(some: Sequence[AnyStep]) -> bool:
            if time.monotonic() > until:
                return False
            try:
                Play(self._stage, NAMES, seed, _SHORT).run(some)
            except AssertionError:
                return True
            finally:
                clean(self._stage)
            return False

        kept = shrunk(steps, fails) if self._options.shrink else [*steps]
        file = Path(f"build/soak-{seed}.jsonl")
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"{to_line(step)}\n" for step in kept))
        _say(f"{len(kept)} of {len(steps)} steps are enough:")
        for step in kept:
            _say(f"  {described(step)}")
        _say(f"Play them again:  make soak REPLAY={file}")
        _say(f"The whole play:   {self._again(seed)}")

    def _again(self, seed: int) -> str:
        """Return how to play a seed once more."""
        steps, layout = self._options.steps, self._options.layout
        if not layout:
            return f"make soak SEED={seed} STEPS={steps}"
        options = f"--seed {seed} --steps {steps} --layout {layout}"
        return f".venv/bin/python -m tests.e2e.rights_model {options}"


def _say(text: str) -> None:
    """At once, for whoever waits an hour wants to see something."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="so long (60)")
    parser.add_argument("--steps", type=int, default=60, help="steps of a play (60)")
    parser.add_argument("--seed", type=int, help="of the first play; by default any")
    parser.add_argument(
        "--layout", choices=KINDS, help="of sudo, or changing; by default another for each seed"
    )
    parser.add_argument("--replay", type=Path, help="a file of steps, in place of new plays")
    parser.add_argument("--once", action="store_true", help="one play")
    parser.add_argument("--shrink", type=float, default=10, help="minutes to make it shorter (10)")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int(os.environ.get("LNAMESPACE_SEED") or random.randrange(10**6))
    return options


if __name__ == "__main__":
    sys.exit(main())
