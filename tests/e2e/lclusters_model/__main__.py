"""Plays in LClusters for as long as is asked: `make soak OF=lclusters`.

Every play has its seed; a play that fails is played again and made shorter, and its moves are
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

from tests.e2e.lclusters_model.moves import AnyMove, described, from_line, to_line
from tests.e2e.lclusters_model.play import LClusterPlay
from tests.e2e.lclusters_model.plot import ending, plot
from tests.e2e.lclusters_model.stage import LClusterStage
from tests.e2e.rights_model.shrink import shrunk
from tests.e2e.support.cluster import running
from tests.e2e.support.gateway import GatewayCluster

_SHORT = 30.0
"""Seconds to wait for what never comes, where it is known already that something does not."""


def main() -> int:
    """Play on a cluster of our own; 1 if a play failed."""
    options = _options()
    # Told to end, it takes its cluster down as it does after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        tempfile.TemporaryDirectory(prefix="lnamespace-soak-") as folder,
        running(Path(folder), GatewayCluster) as cluster,
    ):
        assert isinstance(cluster, GatewayCluster)
        with LClusterStage(cluster) as stage:
            return _plays(stage, options)


def _plays(stage: LClusterStage, options: argparse.Namespace) -> int:
    """Play the moves of a file, or one play after another until the time is up or one fails."""
    if options.replay:
        lines = options.replay.read_text().splitlines()
        moves = [from_line(line) for line in lines if line]
        return 0 if _play(stage, 0, [*moves, *ending()], options) else 1
    until, seed, played = time.monotonic() + 60 * options.minutes, options.seed, 0
    while time.monotonic() < until:
        if not _play(stage, seed, plot(seed, options.steps), options):
            return 1
        seed, played = seed + 1, played + 1
    _say(f"{played} plays, and everybody in the LClusters was answered as the model says.")
    return 0


def _play(
    stage: LClusterStage, seed: int, moves: Sequence[AnyMove], options: argparse.Namespace
) -> bool:
    _say(f"seed {seed}: {len(moves)} moves")
    play, started = LClusterPlay(stage), time.monotonic()
    try:
        report = play.run(moves)
    except AssertionError as difference:
        _say(f"{play.report}\n\n{difference}\n")
        stage.clean()
        _shrink(stage, seed, [*moves][: play.begun], options)
        return False
    settled = sorted(report.settled)
    _say(
        f"  {time.monotonic() - started:.0f} s, {report.done} done, {report.refused} refused, "
        f"{report.answers} answers, settled {len(settled)} times: "
        f"median {settled[len(settled) // 2]:.1f} s, worst {settled[-1]:.1f} s"
    )
    return True


def _shrink(
    stage: LClusterStage, seed: int, moves: Sequence[AnyMove], options: argparse.Namespace
) -> None:
    until = time.monotonic() + 60 * options.shrink

    def fails(some: Sequence[AnyMove]) -> bool:
        if time.monotonic() > until:
            return False
        try:
            LClusterPlay(stage, _SHORT).run(some)
        except AssertionError:
            return True
        finally:
            stage.clean()
        return False

    kept = shrunk(moves, fails) if options.shrink else [*moves]
    file = Path(f"build/soak-lclusters-{seed}.jsonl")
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{to_line(move)}\n" for move in kept))
    _say(f"{len(kept)} of {len(moves)} moves are enough:")
    for move in kept:
        _say(f"  {described(move)}")
    _say(f"Play them again:  make soak OF=lclusters REPLAY={file}")
    _say(f"The whole play:   make soak OF=lclusters SEED={seed} STEPS={options.steps}")


def _say(text: str) -> None:
    """At once, for whoever waits an hour wants to see something."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak OF=lclusters", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="so long (60)")
    parser.add_argument("--steps", type=int, default=80, help="moves of a play (80)")
    parser.add_argument("--seed", type=int, help="of the first play; by default any")
    parser.add_argument("--replay", type=Path, help="a file of moves, in place of new plays")
    parser.add_argument("--shrink", type=float, default=10, help="minutes to make it shorter (10)")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int(os.environ.get("LNAMESPACE_SEED") or random.randrange(10**6))
    return options


if __name__ == "__main__":
    sys.exit(main())
