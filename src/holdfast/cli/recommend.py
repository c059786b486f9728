"""`holdfast ledger recommend`: which model for a goal, by this project's own sessions."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.core.errors import UsageError
from holdfast.flows.advise import advise
from holdfast.ledger import rows as ledgers
from holdfast.ledger.recommend import OBJECTIVES, Recommendation
from holdfast.ledger.rows import Filter
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import plural
from holdfast.views.ledger import as_json
from holdfast.views.ledger_advice import candidates_table, sessions_table

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
        output.show(candidates_table(advice.candidates))
        if any(one.like for one in advice.candidates):
            output.aside("Estimates for this goal, adjusted for difficulty; in brackets the 95% interval.")
        if not all(one.like for one in advice.candidates):
            output.aside("–: no session of this model is like the goal.")
    if advice.like:
        output.section("Based on these and other sessions")
        output.show(sessions_table([match.entry for match in advice.like[:MOST_SHOWN]], titles))
