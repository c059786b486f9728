"""One seed of the rig: the world, the play, the checks, and what to print of it."""

from __future__ import annotations

import random
import time
from pathlib import Path

from msgspec import Struct
from tests.sync.rig.checks import Checks
from tests.sync.rig.play import Play, Played
from tests.sync.rig.world import load_everything, world


class Outcome(Struct):
    seed: int
    problems: list[str]
    played: Played
    syncs: int
    seconds: float


def run_seed(seed: int, operations: int, transport: str, folder: Path) -> Outcome:
    load_everything()
    began = time.monotonic()
    dice = random.Random(f"{seed} {operations} {transport}")
    with world(folder / f"seed-{seed}", transport, dice) as built:
        play = Play(built, dice, operations)
        play.run()
        checks = Checks(built, play.played)
        problems = checks.run()
        if problems:  # keep the folder to look at
            (built.folder / "log").write_text("\n".join(play.played.log), encoding="utf-8")
            built.folder.rename(folder / f"failed-{seed}")
    return Outcome(seed, problems, play.played, checks.syncs, time.monotonic() - began)
