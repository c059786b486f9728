"""`holdfast ledger recommend`: which model for a goal, by this project's own sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from holdfast.core.errors import UsageError
from holdfast.core.session_id import short_session
from holdfast.core.wording import about_dollars, about_minutes
from holdfast.flows.advise import advise
from holdfast.ledger import rows as ledgers
from holdfast.ledger.recommend import OBJECTIVES, Recommendation
from holdfast.ledger.rows import Filter
from holdfast.ledger.similar import ModelEstimate
from holdfast.model.ledger import LedgerEntry
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import Column, Table, dollars, plural, short_model, table_of
from holdfast.views.ledger import LEAST_TITLE, as_json, day
from holdfast.views.ledger_figures import interval

MOST_SHOWN = 5
DESCRIPTION = """Compares the models used here for a goal: how often each fails at such work (difficulty taken into
account), what a success costs and how long it takes, and the sessions behind the figures. Says so if there is not
enough evidence."""
EXAMPLES = """examples:
  holdfast ledger recommend "refactor the payment module"
  holdfast ledger recommend "add a migration" --objective cost
  holdfast ledger recommend "fix the flaky test" ~/work/api ~/work/web    with the ledgers of other repositories"""


OPTIONS = (
    option("goal", metavar="GOAL", help="the task, in your own words"),
    option("places", nargs="*", metavar="DIR", help="read these ledgers instead of this project's"),
    option(
        "--objective",
        choices=OBJECTIVES,
        default="balanced",
        help="balanced: fails least, then cheapest; or only cost, risk or time",
    ),
    flag("--json", "the recommendation as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if not options.goal.strip():
        raise UsageError(
            "no goal given", fix='Describe the goal: holdfast ledger recommend "refactor payments"'
        )
    ledgers.check_beside_goal(machine, options.places)
    rows, problems = ledgers.read_all(machine, machine.project(), options.places, Filter())
    output.warn_all(problems)
    advice = advise(machine, options.goal, rows, options.objective)
    like = [{**as_json(match.entry), "score": match.score, "why": match.why} for match in advice.like[:20]]
    value = {**msgspec.to_builtins(advice, str_keys=True, enc_hook=str), "like": like}
    titles = ledgers.titles_of(machine.project(), [match.entry for match in advice.like[:MOST_SHOWN]])
    output.answer(options, value, lambda: _show(advice, titles))


def _show(advice: Recommendation, titles: Mapping[str, str]) -> None:
    output.heading(("Recommendation: " if advice.model else "") + advice.sentence)
    goal = advice.goal
    about = [part for part in (goal.kind, goal.complexity, goal.framework or goal.project_type) if part]
    more = f", {advice.left_out} more without a known model or result" if advice.left_out else ""
    number = f"{plural(advice.sessions, 'judged session')}{more}"
    output.aside(f"goal: {' '.join(goal.words) or '?'} ({', '.join(about)}); {number}")
    if advice.candidates:
        output.line()
        output.show(_candidates(advice.candidates))
        if any(one.like for one in advice.candidates):
            output.aside("Estimates for this goal, adjusted for difficulty; in brackets the 95% interval.")
        if not all(one.like for one in advice.candidates):
            output.aside("–: no session of this model is like the goal.")
    if advice.like:
        output.section("Based on these and other sessions")
        output.show(_rests_on([match.entry for match in advice.like[:MOST_SHOWN]], titles))


def _candidates(candidates: Sequence[ModelEstimate]) -> Table:
    return table_of(
        candidates,
        (Column("Model", style="cyan"), lambda one: short_model(one.model)),
        (Column("Sessions", "right"), lambda one: str(one.sessions)),
        (
            Column("Like this", "right", dispensable=1),
            lambda one: f"{one.like} ({one.like_failed} failed)" if one.like else "0",
        ),
        (Column("Fails", "right"), lambda one: _known(one, _fails)),
        (
            Column("Cost", "right", dispensable=2),
            lambda one: _known(one, lambda own: about_dollars(own.cost)),
        ),
        (
            Column("Per success", "right"),
            lambda one: _known(one, lambda own: about_dollars(own.cost_per_success)),
        ),
        (
            Column("Time per success", "right", dispensable=3),
            lambda one: _known(one, lambda own: about_minutes(own.minutes_per_success)),
        ),
    )


def _known(one: ModelEstimate, figure: Callable[[ModelEstimate], str]) -> str:
    """A figure of a model that was used for something like the goal."""
    return figure(one) if one.like else "–"


def _fails(one: ModelEstimate) -> str:
    return f"{one.failure_rate:.0%}{interval(one.failure_interval)}"


def _rests_on(entries: Sequence[LedgerEntry], titles: Mapping[str, str]) -> Table:
    return table_of(
        entries,
        (Column("Session", style="cyan"), lambda entry: short_session(entry.session)),
        (Column("When", dispensable=2), lambda entry: day(entry.timestamp)[:10]),
        (Column("Model", dispensable=1), lambda entry: short_model(entry.model)),
        (Column("Outcome"), lambda entry: entry.outcome or "?"),
        (Column("Failed", "right"), lambda entry: output.number(entry.failed)),
        (Column("Cost", "right", dispensable=3), lambda entry: dollars(entry.cost_usd)),
        (
            Column("Title", flexible=True, least=LEAST_TITLE),
            lambda entry: titles.get(entry.session) or " ".join(entry.goal),
        ),
    )
