"""Tries one fault at a time on a scenario, and lists what is violated afterwards."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

from scripts.fault_rig import checks
from scripts.fault_rig.power import HOW, Disk, lay_out
from scripts.fault_rig.scenarios import Scenario
from scripts.fault_rig.shim import (
    CHANGES,
    KILL_AFTER,
    KILL_TORN,
    Call,
    Fault,
    faults_at,
    read_log,
    without_chance,
)
from scripts.fault_rig.world import Ended, Saved, World, command, empty

LATER_S = 3600


@dataclass
class Result:
    """One fault: where it struck and what was violated. `reached` is False where the process made fewer calls."""

    scenario: str
    fault: str
    at: int
    how: str = ""
    seed: int = 0
    reached: bool = True
    code: int = 0
    place: str = ""
    said: str = ""
    violations: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return (
            "kill"
            if self.fault.startswith("kill")
            else "power loss"
            if self.fault == "power loss"
            else "error"
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Budget:
    """How many points of each kind a scenario gets."""

    errors: int
    kills: int
    losses: int


class CannotTry(Exception):
    """The scenario does not even succeed on a sound disk."""


class Trials:
    """A scenario with what it does undisturbed."""

    def __init__(self, world: World, scenario: Scenario, machine: Saved) -> None:
        self.world, self.scenario = world, scenario
        self._recovered: dict[str, list[str]] = {}
        machine.put_back(world.root)
        scenario.prepare(world)
        self.cwd = world.root / scenario.place
        self.saved = Saved.of(world.root)
        self.before = checks.view(world)
        self.disk = Disk(world.root)
        self.undisturbed = world.run(self._work(), cwd=self.cwd, log=True, data=True)
        self.calls = read_log(world.log)
        if not scenario.acknowledged(world, self.undisturbed):
            raise CannotTry(f"{scenario.name}: {self.undisturbed.out}{self.undisturbed.err}")
        self.after = checks.view(world)
        problems = [*checks.torn(world, tails=False), *checks.still_there(scenario, world)]
        problems += [*checks.told(scenario, self.undisturbed)]
        again = self._again()
        problems += [f"again: {again.code} {again.err}"] if again.code else []
        self.finally_ = checks.view(world)
        self.leftovers = checks.names(world)
        self.doctor = self._doctor()
        if problems:
            raise CannotTry(f"{scenario.name}, undisturbed: {problems}")

    def _work(self) -> Any:
        return self.scenario.work(self.world)

    def _again(self) -> Ended:
        """The run after the fault: later, on a sound disk. What is done and must not be repeated is followed by another
        command."""
        is_done = not list(checks.differing(self.after, checks.view(self.world)))
        if is_done and not self.scenario.repeats:
            work = command("import", "--quiet")
        else:
            work = (self.scenario.again or self.scenario.work)(self.world)
        return self.world.run(work, cwd=self.cwd, later_s=LATER_S)

    def _doctor(self, *words: str) -> list[str]:
        ended = self.world.run(command("doctor", "--json", *words), cwd=self.cwd, later_s=LATER_S)
        try:
            findings = json.loads(ended.out)["findings"]
        except (ValueError, LookupError):
            return [f"doctor fails: {ended.code} {ended.err.strip()[-200:]}"]
        return [f"{one['check']}: {one['message']}" for one in findings if one["level"] == "problem"]

    # --- one fault ---------------------------------------------------------------------------------------

    def fail(self, fault: Fault) -> Result:
        self.saved.put_back(self.world.root)
        ended = self.world.run(self._work(), fault, cwd=self.cwd)
        result = Result(self.scenario.name, fault.name, fault.at, reached=bool(ended.hit), code=ended.code)
        kind = next((call.kind for call in self.calls if call.number == fault.at), "")
        result.place = f"{kind} {ended.hit_path.removeprefix(str(self.world.root) + '/')}"
        result.said = (ended.err or ended.out).strip()[-300:]
        if not ended.hit:
            return result
        result.violations = [*checks.told(self.scenario, ended)]
        torn_tails = fault.mode == KILL_TORN
        result.violations += self._judge(self.scenario.acknowledged(self.world, ended), tails=torn_tails)
        return result

    def lose_power(self, at: int, how: str, seed: int) -> Result:
        """The power goes after the call `at`; after the last one the work was acknowledged."""
        last = self.calls[at - 1]
        place = f"{last.kind} {last.path.removeprefix(str(self.world.root) + '/')}"
        result = Result(self.scenario.name, "power loss", at, how, seed, place=place)
        disk = deepcopy(self.disk)
        disk.follow(self.calls[:at])
        found = disk.lose_power(how, random.Random(seed))
        empty(self.world.root)
        lay_out(found, self.world.root)
        if self.scenario.quiet:
            acknowledged = self.scenario.acknowledged(self.world, self.undisturbed)
        else:
            acknowledged = at >= len(self.calls)
        result.violations = self._judge(acknowledged, tails=True)
        return result

    def _judge(self, acknowledged: bool, *, tails: bool) -> list[str]:
        """What is violated in the state that a fault left, and after the next run."""
        world, scenario = self.world, self.scenario
        problems = [*checks.torn(world, tails=tails)]
        now = checks.view(world)
        problems += checks.lost(self.before, self.after, now)
        if acknowledged:
            problems += [f"acknowledged, but {one}" for one in checks.differing(self.after, now)]
            problems += [f"acknowledged, but {one}" for one in checks.still_there(scenario, world)]
        elif scenario.whole:
            # What an archive holds is noted before it is put in place; until then that names nothing.
            changed = [one for one in checks.differing(self.before, now) if "/origins.json " not in one]
            if changed and list(checks.differing(self.after, now)):
                problems.append(f"neither the old memory nor the new one: {changed[0]}")
        state = checks.state(world)
        if state not in self._recovered:
            self._recovered[state] = self._recover(halves=tails)
        return problems + self._recovered[state]

    def _recover(self, *, halves: bool) -> list[str]:
        """What is violated after the run that follows a fault."""
        world, scenario = self.world, self.scenario
        problems: list[str] = []
        again = self._again()
        problems += [f"afterwards, {one}" for one in checks.told(scenario, again)]
        if again.code and not scenario.quiet:
            problems.append(f"afterwards, it ends with {again.code}: {again.err.strip()[-300:]}")
        final = checks.view(world)
        problems += [f"afterwards, {one}" for one in checks.torn(world, tails=False, halves=halves)]
        doctor = self._doctor()
        for name in checks.named_torn(self.finally_, final, doctor):
            final[name] = self.finally_.get(name, final[name])
        problems += [f"afterwards, {one}" for one in checks.differing(self.finally_, final)]
        problems += [f"afterwards, {one}" for one in checks.still_there(scenario, world)]
        problems += [f"left lying about: {name}" for name in sorted(checks.names(world) - self.leftovers)]
        if set(doctor) - set(self.doctor):
            left = [one for one in self._doctor("--fix") if "the entry breaks off before its end" not in one]
            problems += [f"doctor --fix leaves {one}" for one in left if one not in self.doctor]
        return problems

    # --- which faults ------------------------------------------------------------------------------------

    def faults(self, budget: Budget, dice: random.Random) -> list[Fault]:
        every = [fault for call in self.calls for fault in faults_at(call)]
        kinds = {call.number: call for call in self.calls}
        kills = [fault for fault in every if fault.mode in (KILL_AFTER, KILL_TORN)]
        errors = [fault for fault in every if fault.mode not in (KILL_AFTER, KILL_TORN)]
        return [
            fault
            for some, number in ((errors, budget.errors), (kills, budget.kills))
            for fault in _spread(some, kinds, number, dice)
        ]

    def losses(self, budget: Budget, dice: random.Random) -> list[tuple[int, str, int]]:
        """Half of them when the command has just said that it is done."""
        cuts = [call.number for call in self.calls if call.kind in (*CHANGES, "sync")]
        end = len(self.calls)
        points = [(end, how, seed) for seed in range(2) for how in dict.fromkeys(HOW)]
        while cuts and len(points) < budget.losses:
            points.append((dice.choice(cuts), dice.choice(HOW), dice.randrange(1 << 16)))
        return points[: budget.losses]


def _spread(
    faults: Sequence[Fault], calls: dict[int, Call], number: int, dice: random.Random
) -> Iterator[Fault]:
    """Some faults of each sort: what goes wrong, at which sort of call, on which file."""
    sorts: dict[tuple[str, str, str], list[Fault]] = {}
    for fault in faults:
        call = calls[fault.at]
        sort = fault.name, call.kind, without_chance(os.path.basename(call.path2 or call.path))
        sorts.setdefault(sort, []).append(fault)
    piles = list(sorts.values())
    for pile in piles:
        dice.shuffle(pile)
    dice.shuffle(piles)
    while number > 0 and (piles := [pile for pile in piles if pile]):
        for pile in piles[:number]:
            yield pile.pop()
        number -= len(piles)


def totals(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    """Points, kills, power losses and violations by scenario."""
    table: dict[str, dict[str, int]] = {}
    for result in results:
        row = table.setdefault(
            result.scenario,
            {"points": 0, "error": 0, "kill": 0, "power loss": 0, "not reached": 0, "violated": 0},
        )
        if result.reached:
            row["points"] += 1
            row[result.kind] += 1
            row["violated"] += bool(result.violations)
        else:
            row["not reached"] += 1
    return table
