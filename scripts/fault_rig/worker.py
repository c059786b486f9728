"""One process of the rig: builds its machines, tries its share of the points, prints a line of JSON for each.

It is started by `scripts/fault_rig/__main__.py` with the library in LD_PRELOAD.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.fault_rig.scenarios import MACHINES, SCENARIOS, use_everything
from scripts.fault_rig.trials import Budget, CannotTry, Result, Trials
from scripts.fault_rig.world import Saved, World, empty, load_everything


def run(options: dict[str, Any]) -> Iterator[Result | str]:
    """The results of this worker's share; a text says why a scenario could not be tried."""
    folder, library = Path(options["folder"]), Path(options["library"])
    load_everything(folder / "used", library, use_everything)
    world = World(folder, library)
    machines: dict[str, Saved | str] = {}
    for scenario in SCENARIOS:
        if options["scenarios"] and scenario.name not in options["scenarios"]:
            continue
        if scenario.machine not in machines:
            machines[scenario.machine] = _machine(world, scenario.machine)
        machine = machines[scenario.machine]
        if isinstance(machine, str):
            yield f"{scenario.name}: {machine}"
            continue
        try:
            trials = Trials(world, scenario, machine)
        except CannotTry as problem:
            yield f"{problem}"
            continue
        yield from _try(trials, options)


def _machine(world: World, name: str) -> Saved | str:
    from scripts.old_home import NoHistory, missing_history

    if name == "0.1.0" and (problem := missing_history(Path(world.scratch.parent, "old-code"))):
        return problem
    empty(world.root)
    try:
        MACHINES[name](world)
    except NoHistory as problem:
        return str(problem)
    return Saved.of(world.root)


def _try(trials: Trials, options: dict[str, Any]) -> Iterator[Result]:
    name = trials.scenario.name
    if only := options["only"]:
        yield from _only(trials, only)
        return
    dice = random.Random(zlib.crc32(name.encode()) + options["seed"])
    budget = Budget(*options["budget"])
    tasks = [(trials.fail, (fault,)) for fault in trials.faults(budget, dice)]
    losses = [(trials.lose_power, point) for point in trials.losses(budget, dice)]
    for work, arguments in [*tasks, *losses][options["share"] :: options["shares"]]:
        yield work(*arguments)  # type: ignore[operator]


def _only(trials: Trials, only: str) -> Iterator[Result]:
    """`EIO@123`, or `power loss@123/synced only/7`: one point again."""
    from scripts.fault_rig.shim import faults_at

    fault, _, place = only.partition("@")
    at, _, rest = place.partition("/")
    if fault == "power loss":
        how, _, seed = rest.partition("/")
        yield trials.lose_power(int(at), how or "synced only", int(seed or 0))
        return
    call = next(call for call in trials.calls if call.number == int(at))
    for one in faults_at(call):
        if one.name == fault:
            yield trials.fail(one)


def main() -> None:
    options = json.loads(sys.argv[1])
    for result in run(options):
        line = {"problem": result} if isinstance(result, str) else result.as_json()
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
