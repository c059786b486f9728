"""An experiment as JSON and as text: what it will do and cost, and what came out."""

from __future__ import annotations

import msgspec

from holdfast.terminal import output
from holdfast.terminal.output import Column, Table, counted
from holdfast.trials.clients import client_of, command_of
from holdfast.trials.experiment import Ended, Plan
from holdfast.trials.table import Change, Line
from holdfast.trials.table import Table as Comparison
from holdfast.trials.taskfile import Task


def results_as_json(planned: Plan, ended: Ended, comparison: Comparison) -> dict[str, object]:
    return {
        **plan_as_json(planned),
        "spent_usd": ended.spent,
        "left_out": ended.left_out,
        "table": comparison,
        "results": [msgspec.structs.asdict(result) for result in ended.results],
    }


def plan_as_json(planned: Plan) -> dict[str, object]:
    experiment = planned.experiment
    return {
        "agent": experiment.agent,
        "model": experiment.model,
        "commit": planned.commit[0],
        "sessions": len(planned.steps),
        "done": len(planned.done),
        "session_usd": planned.session_usd,
        "expected_usd": _expected(planned),
        "budget_usd": experiment.budget_usd,
        "command": _command(planned),
    }


def _expected(planned: Plan) -> float | None:
    return None if planned.session_usd is None else planned.session_usd * len(planned.remaining)


def _command(planned: Plan) -> list[str]:
    experiment = planned.experiment
    client = client_of(experiment.agent)
    return command_of(client, planned.program, experiment.arguments, experiment.model, "PROMPT")


def plan_lines(planned: Plan) -> list[str]:
    """What will happen, so that a person can agree to it: command, permissions, what the client gets, and cost."""
    experiment = planned.experiment
    client = client_of(experiment.agent)
    remaining = len(planned.remaining)
    cold = "an empty memory" if experiment.cold == "empty" else "no holdfast at all"
    done = f" ({len(planned.done)} done already)" if planned.done else ""
    expected = _expected(planned)
    cost = (
        f"about ${expected:,.2f} (${planned.session_usd:,.2f} a session, by {planned.basis})"
        if expected is not None
        else "unknown: set session_usd in the tasks"
    )
    given = [*(f"${name}" for name in experiment.env), *experiment.home_files]
    return [
        f"{counted(remaining, 'session')}{done}: {counted(len(experiment.tasks), 'task')}, "
        f"{counted(experiment.runs, 'run')}, each with this project's memory and with {cold}.",
        f"Client: {client.title}, model {experiment.model}: {' '.join(_command(planned))}",
        f"It may {client.may}. Each session works in a copy of {output.place(experiment.repository)} at "
        f"{planned.commit[0][:12]} and a home of its own, which are removed afterwards.",
        f"It gets: {', '.join(given) if given else 'none of your variables or files'}.",
        *(f"  {task.name}: {_commands(task)}" for task in experiment.tasks),
        f"Cost: {cost}; no pair of sessions starts if it could exceed ${experiment.budget_usd:,.2f}. "
        f"A session is stopped after {experiment.seconds:,} s, a check after {experiment.check_seconds:,} s.",
    ]


def _commands(task: Task) -> str:
    """The commands of a task that run outside the client: who wrote the file chose them."""
    return output.flat("; ".join(filter(None, (task.setup, task.check))))


def show_results(planned: Plan, ended: Ended, comparison: Comparison) -> None:
    output.show(_table(comparison))
    output.line()
    for change in comparison.overall:
        if change.value is not None:
            output.line(f"{change.measure}, all tasks: {_with_interval(change)}")
    if comparison.pairs and comparison.wins_low is not None and comparison.wins_high is not None:
        interval = f"95%: {comparison.wins_low:.0%} to {comparison.wins_high:.0%}"
        output.line(f"wins: {comparison.wins} of {comparison.pairs} ({interval})")
    output.line(f"passed: {comparison.passed_warm} warm, {comparison.passed_cold} cold")
    for result in ended.results:
        if result.outcome not in ("passed", "failed"):
            arm = "warm" if result.warm else "cold"
            output.item(
                f"{result.task}, {arm}, run {result.run}: {result.outcome}: {output.flat(result.detail)}"
            )
    output.note(f"Spent ${ended.spent:,.2f} of ${planned.experiment.budget_usd:,.2f}.")
    if ended.left_out:
        output.note(
            f"{counted(ended.left_out, 'session')} skipped: they might have exceeded the budget. Raise budget_usd "
            "and run it again; finished sessions are kept."
        )


def _table(comparison: Comparison) -> Table:
    def passed(line: Line) -> str:
        return f"{line.cold.passed}/{line.cold.n} → {line.warm.passed}/{line.warm.n}"

    return output.table_of(
        comparison.lines,
        (Column("Task"), lambda line: line.task),
        (Column("Class"), lambda line: line.kind),
        (Column("Cold tokens", "right"), lambda line: _tokens(line.cold.means["tokens"])),
        (Column("Warm tokens", "right"), lambda line: _tokens(line.warm.means["tokens"])),
        (Column("Change", "right"), lambda line: _with_interval(line.changes[0])),
        (Column("Wins", "right"), lambda line: f"{line.wins}/{line.pairs}"),
        (Column("Passed", "right"), passed),
    )


def _tokens(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _with_interval(change: Change) -> str:
    if change.value is None:
        return "–"
    text = _signed(change.value)
    if change.low is not None and change.high is not None:
        text += f" (95%: {_signed(change.low)} to {_signed(change.high)})"
    return text


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.0%}"
