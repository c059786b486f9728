"""Runs one session of a trial, checks its work and measures it. Whatever goes wrong is an outcome, not an error."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.core.bounded_process import ProcessResult, run_bounded
from holdfast.core.errors import HoldfastError
from holdfast.flows.import_sessions import import_sources, recorded_here
from holdfast.model.events import DistilledSession
from holdfast.sessions.cost import cost_of_record
from holdfast.sessions.store import CaptureStore
from holdfast.trials.clients import client_of, command_of
from holdfast.trials.taskfile import Experiment, Task
from holdfast.trials.workspace import Place, place_for

Outcome = Literal["passed", "failed", "crashed", "too slow", "check too slow", "not set up"]
ALL = 1_000_000
LONGEST_DETAIL = 300


class Result(Struct, frozen=True, kw_only=True):
    """One session. `key` says what was run, so that a changed task is run again. None is unknown."""

    key: str
    task: str
    run: int
    warm: bool
    outcome: Outcome
    detail: str = ""
    seconds: float = 0.0
    tokens: int | None = None
    calls: int | None = None
    turns: int | None = None
    cost_usd: float | None = None

    @property
    def success(self) -> bool:
        return self.outcome == "passed"


def run_session(
    experiment: Experiment,
    task: Task,
    run: int,
    *,
    warm: bool,
    key: str,
    program: str,
    commit: tuple[str, str],
    memory: Path,
    env: Mapping[str, str],
) -> Result:
    """Runs a task once, in one arm."""

    def result(outcome: Outcome, detail: str = "", seconds: float = 0.0, used: _Used | None = None) -> Result:
        used = used or _Used()
        return Result(
            key=key, task=task.name, run=run, warm=warm, outcome=outcome, detail=_short(detail), seconds=seconds,
            tokens=used.tokens, calls=used.calls, turns=used.turns, cost_usd=used.cost_usd,
        )  # fmt: skip

    try:
        with place_for(experiment, task, warm=warm, commit=commit, memory=memory, env=env) as place:
            if task.setup:
                made = run_bounded(task.setup, place.tree, place.env, experiment.check_seconds)
                if made.exit_code != 0:
                    return result("not set up", _last_line(made) or "the setup took too long")
            known = _sessions(place)
            words = command_of(
                client_of(experiment.agent), program, experiment.arguments, experiment.model, task.prompt
            )
            began = time.monotonic()
            ran = run_bounded(words, place.tree, place.env, experiment.seconds)
            seconds = time.monotonic() - began
            used = _used(experiment, place, known)
            if ran.exit_code is None:
                return result("too slow", f"stopped after {experiment.seconds:,} s", seconds, used)
            if ran.exit_code != 0:
                return result("crashed", f"exit code {ran.exit_code}: {_last_line(ran)}", seconds, used)
            checked = run_bounded(task.check, place.tree, place.env, experiment.check_seconds)
            if checked.exit_code is None:
                return result(
                    "check too slow", f"stopped after {experiment.check_seconds:,} s", seconds, used
                )
            return result("failed" if checked.exit_code else "passed", _last_line(checked), seconds, used)
    except HoldfastError as error:
        return result("not set up", error.line())


class _Used(Struct, frozen=True, kw_only=True):
    tokens: int | None = None
    calls: int | None = None
    turns: int | None = None
    cost_usd: float | None = None


def _sessions(place: Place) -> frozenset[str]:
    return frozenset(record.session for record in _records(place))


def _records(place: Place) -> list[DistilledSession]:
    nothing: list[DistilledSession] = []
    return CaptureStore.glimpse(
        place.machine().project().capture, lambda store: list(store.records(ALL)), nothing
    )


def _used(experiment: Experiment, place: Place, known: frozenset[str]) -> _Used:
    """What the session took, by the client's own transcript; unknown for a client that we cannot read."""
    if experiment.agent == "command":
        return _Used()
    machine = place.machine()
    project = machine.project()
    try:
        project.prepare()
        import_sources(machine, project, recorded_here(machine, project, experiment.agent), prepares=False)
        records = [record for record in _records(place) if record.session not in known]
    except HoldfastError:
        return _Used()
    if not records:
        return _Used()
    models = [model for record in records for model in record.models]
    costs = [cost_of_record(record) for record in records]
    known_costs = [cost for cost in costs if cost is not None]
    return _Used(
        tokens=sum(model.usage.prompt_tokens + model.usage.output for model in models) if models else None,
        calls=sum(record.tool_calls for record in records),
        turns=sum(model.responses for model in models) if models else None,
        cost_usd=sum(known_costs) if models and len(known_costs) == len(costs) else None,
    )


def _last_line(ran: ProcessResult) -> str:
    lines = ran.output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _short(text: str) -> str:
    return " ".join(text.split())[:LONGEST_DETAIL]
