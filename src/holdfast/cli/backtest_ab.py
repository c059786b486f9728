"""`holdfast backtest --ab TASKS.toml`: shows what an experiment will do and cost, asks, runs it, prints the table."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from holdfast.flows.roi import session_records
from holdfast.sessions.cost import cost_of_record
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace
from holdfast.terminal.progress import progress_bar
from holdfast.trials.experiment import plan, require_known_cost, run
from holdfast.trials.table import table_of
from holdfast.trials.taskfile import TaskFileError, load
from holdfast.views.trials import plan_as_json, plan_lines, results_as_json, show_results


def run_ab(options: Namespace, machine: Machine) -> int | None:
    try:
        experiment = load(Path(options.ab))
    except TaskFileError as error:
        output.warn_all(error.problems)
        raise
    project = machine.project(Path(experiment.repository))
    planned = plan(
        machine,
        experiment,
        lambda: _session_cost([cost_of_record(record) for record in session_records(project)]),
        again=options.again,
    )
    if options.dry_run:
        output.answer(options, plan_as_json(planned), "\n".join(plan_lines(planned)))
        return None
    if planned.remaining:
        require_known_cost(planned)
        require_person(machine)
        if not options.yes:
            for line in plan_lines(planned):
                output.note(line)
            if not agreed("Start the experiment?"):
                output.note("Nothing was started.")
                return 1
    with progress_bar(show=not options.json, text="sessions", columns=("TimeRemainingColumn",)) as update:
        ended = run(machine, project, planned, update)
    comparison = table_of(experiment, ended.results)
    output.answer(
        options, results_as_json(planned, ended, comparison), lambda: show_results(planned, ended, comparison)
    )
    return None


def _session_cost(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return fmean(known) if known else None
