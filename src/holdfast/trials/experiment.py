"""Runs the pairs of an experiment within its budget, and continues where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import UsageError
from holdfast.store.json_files import encode_json_lines, read_json_lines
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.trials.clients import client_of, program_of
from holdfast.trials.session import Result, run_session
from holdfast.trials.taskfile import Experiment, Task
from holdfast.trials.workspace import commit_of, frozen_memory, state_folder

Progress = Callable[[int, int, str], None]
"""Called with the sessions done, their total, and what runs now."""


class Step(Struct, frozen=True):
    """One session to run."""

    task: Task
    run: int
    warm: bool
    key: str


class Plan(Struct, frozen=True, kw_only=True):
    """What an experiment will do. `done` are results of an earlier run of the same file."""

    experiment: Experiment
    program: str
    commit: tuple[str, str]
    folder: Path
    steps: tuple[Step, ...]
    done: tuple[Result, ...]
    session_usd: float | None
    basis: str

    @property
    def remaining(self) -> list[Step]:
        finished = {result.key for result in self.done}
        return [step for step in self.steps if step.key not in finished]

    @property
    def spent(self) -> float:
        """Dollars so far. A session of unknown cost counts as expected, so that the budget holds all the same."""
        return sum(self.cost_of(result) for result in self.done)

    def cost_of(self, result: Result) -> float:
        return result.cost_usd if result.cost_usd is not None else (self.session_usd or 0.0)


class Ended(Struct, frozen=True, kw_only=True):
    """All results, and how many sessions the budget left out."""

    results: tuple[Result, ...]
    spent: float
    left_out: int


def plan(
    machine: Machine, experiment: Experiment, history: Callable[[], float | None], *, again: bool = False
) -> Plan:
    """Everything that can be found out without spending. Writes nothing.

    `history` is the cost of a session by the sessions of this project; None if there are none. `again`: without what
    was done before.
    """
    program = program_of(client_of(experiment.agent), experiment.program, machine.env.get("PATH"))
    commit = commit_of(experiment)
    folder = state_folder(machine, experiment)
    steps = tuple(_steps(experiment, commit[0]))
    keys = set() if again else {step.key for step in steps}
    done = {result.key: result for result in read_json_lines(_results(folder), Result) if result.key in keys}
    measured = [result.cost_usd for result in done.values() if result.cost_usd is not None]
    expected, basis = experiment.session_usd, "session_usd in the tasks"
    if measured:
        expected, basis = sum(measured) / len(measured), f"the {len(measured)} sessions measured so far"
    elif expected is None:
        expected, basis = history(), "the sessions of this project"
    return Plan(
        experiment=experiment, program=program, commit=commit, folder=folder, steps=steps,
        done=tuple(done.values()), session_usd=expected, basis=basis if expected is not None else "",
    )  # fmt: skip


def _results(folder: Path) -> Path:
    return folder / "results.jsonl"


def _steps(experiment: Experiment, commit: str) -> Iterator[Step]:
    """The pairs in order: every task once before any twice, so that a budget that ends early covers all tasks.

    Which arm comes first is random, because the second may find caches of the service warm.
    """
    random = Random(experiment.seed)
    for run in range(1, experiment.runs + 1):
        for task in experiment.tasks:
            for warm in random.sample((False, True), 2):
                yield Step(task, run, warm, _key(experiment, task, run, commit, warm=warm))


def _key(experiment: Experiment, task: Task, run: int, commit: str, *, warm: bool) -> str:
    """What a result depends on. Budget and number of runs are not in it, so they can be raised later."""
    parts = (
        msgspec.structs.asdict(task), run, warm, commit, "" if warm else experiment.cold, experiment.agent,
        experiment.model, experiment.program, experiment.arguments, experiment.env, experiment.home_files,
        experiment.seconds, experiment.check_seconds,
    )  # fmt: skip
    return sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def run(machine: Machine, project: Project, plan: Plan, progress: Progress | None = None) -> Ended:
    """Runs what is left of an experiment. A pair is begun only if the budget has room for both of its sessions."""
    experiment, results = plan.experiment, list(plan.done)
    spent, left_out = plan.spent, 0
    remaining = plan.remaining
    lock = plan.folder / "lock"
    with files.lock(lock, timeout=0.1), frozen_memory(machine, project) as memory:
        for place, step in enumerate(remaining):
            expected = _expected(plan, results)
            partners = sum(_pair(other) == _pair(step) for other in remaining[place:])
            if spent + expected * partners > experiment.budget_usd:
                left_out = len(remaining) - place
                break
            if progress is not None:
                progress(place, len(remaining), f"{step.task.name}, {'warm' if step.warm else 'cold'}")
            result = run_session(
                experiment, step.task, step.run, warm=step.warm, key=step.key, program=plan.program,
                commit=plan.commit, memory=memory, env=machine.env,
            )  # fmt: skip
            result = msgspec.structs.replace(result, detail=machine.clean(result.detail))
            files.append(_results(plan.folder), encode_json_lines([result]), plan.folder / "results.lock")
            results.append(result)
            spent += result.cost_usd if result.cost_usd is not None else expected
    return Ended(results=tuple(results), spent=spent, left_out=left_out)


def _pair(step: Step) -> tuple[str, int]:
    return step.task.name, step.run


def _expected(plan: Plan, results: Sequence[Result]) -> float:
    """What a session will probably cost: the dearest of those measured in its experiment, so that the cap holds."""
    measured = [result.cost_usd for result in results if result.cost_usd is not None]
    return max([*measured, plan.session_usd or 0.0])


def require_known_cost(plan: Plan) -> None:
    """Raises UsageError where the budget could not be kept to, because nobody knows what a session costs."""
    if plan.session_usd is None:
        raise UsageError(
            f"{plan.experiment.path}: the cost of a session is unknown, so the budget cannot be enforced",
            fix="Set session_usd in the tasks to what you expect",
        )
