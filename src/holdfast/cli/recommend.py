"""`holdfast recommend`: which model for a goal, by this project's own sessions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.cli import output
from holdfast.cli.ledger_figures import interval
from holdfast.cli.ledger_views import as_json, day, short_id
from holdfast.cli.options import Machine, Namespace, flag, option
from holdfast.cli.output import Column, Table, dollars, minutes, percent, short_model
from holdfast.cli.output import number as number_of
from holdfast.core.errors import UsageError
from holdfast.flows.advise import advise
from holdfast.ledger import rows as ledgers
from holdfast.ledger.recommend import OBJECTIVES, Recommendation
from holdfast.ledger.rows import Filter
from holdfast.ledger.similar import ModelEstimate
from holdfast.model.ledger import LedgerEntry

MOST_SHOWN = 5
DESCRIPTION = """Says which of the models used here to take for a goal: how often each fails at such work once the
difficulty of what it was given is taken out, what a success costs, how long it takes, and which sessions that rests
on. Where they do not tell the models apart, or there are too few, it says so."""
EXAMPLES = """examples:
  holdfast recommend "refactor the payment module"
  holdfast recommend "add a migration" --objective cost
  holdfast recommend "fix the flaky test" ~/work/api ~/work/web    with the ledgers of other repositories"""


OPTIONS = (
    option("goal", metavar="GOAL", help="what is to be done, in your own words"),
    option("places", nargs="*", metavar="DIR", help="ledgers to read instead of this project's, as one"),
    option(
        "--objective",
        choices=OBJECTIVES,
        default="balanced",
        help="balanced: fails least, and cheapest of those that fail alike; or only cost, risk or time",
    ),
    flag("--json", "the recommendation as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if not options.goal.strip():
        raise UsageError(
            "there is no goal", fix='Say what is to be done: holdfast recommend "refactor payments"'
        )
    ledgers.check_beside_goal(machine, options.places)
    rows, problems = ledgers.read_all(machine, machine.project(), options.places, Filter())
    output.warn_all(problems)
    told = advise(machine, options.goal, rows, options.objective)
    if options.json:
        like = [{**as_json(one.entry), "score": one.score, "why": one.why} for one in told.like[:20]]
        output.show_json({**msgspec.to_builtins(told, str_keys=True, enc_hook=str), "like": like})
    else:
        _show(told)


def _show(told: Recommendation) -> None:
    output.heading(("Recommendation: " if told.model else "") + told.sentence)
    goal = told.goal
    about = [part for part in (goal.kind, goal.complexity, goal.framework or goal.project_type) if part]
    more = f", {told.left_out} more without a known model or result" if told.left_out else ""
    number = f"{told.sessions} judged session{'s' if told.sessions != 1 else ''}{more}"
    output.aside(f"goal: {' '.join(goal.words) or '?'} ({', '.join(about)}); {number}")
    if told.candidates:
        output.line()
        output.show(_candidates(told.candidates))
        output.aside(
            "Failure rates are for this goal, difficulty taken out; the range holds the true one 95 times of 100."
        )
    if told.like:
        output.section("Rests on, among others")
        output.show(_rests_on([one.entry for one in told.like[:MOST_SHOWN]]))


def _rests_on(entries: Sequence[LedgerEntry]) -> Table:
    return Table(
        columns=(
            Column("Session", style="cyan"),
            Column("When", dispensable=2),
            Column("Model", dispensable=1),
            Column("Outcome"),
            Column("Failed", "right"),
            Column("Cost", "right", dispensable=3),
            Column("Goal", flexible=True),
        ),
        rows=[
            (
                short_id(entry.session),
                day(entry.timestamp)[:10],
                short_model(entry.model),
                entry.outcome or "?",
                number_of(entry.failed),
                dollars(entry.cost_usd),
                " ".join(entry.goal),
            )
            for entry in entries
        ],
    )


def _candidates(candidates: tuple[ModelEstimate, ...]) -> Table:
    return Table(
        columns=(
            Column("Model", style="cyan"),
            Column("Sessions", "right"),
            Column("Like this", "right", dispensable=1),
            Column("Fails", "right"),
            Column("Cost", "right", dispensable=2),
            Column("Per success", "right"),
            Column("Time per success", "right", dispensable=3),
        ),
        rows=[
            (
                short_model(one.model),
                str(one.sessions),
                f"{one.like} ({one.like_failed} failed)" if one.like else "0",
                f"{percent(one.failure_rate)}{interval(one.failure_interval)}",
                dollars(one.cost),
                dollars(one.cost_per_success),
                minutes(one.minutes_per_success),
            )
            for one in candidates
        ],
    )
