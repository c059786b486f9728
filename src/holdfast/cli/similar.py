"""`holdfast ledger similar`: past sessions like a goal, and how they ended."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.core.session_id import short_session
from holdfast.flows.advise import like
from holdfast.ledger import rows as ledgers
from holdfast.ledger.rows import Filter
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, limit, option
from holdfast.terminal.output import EMPTY, Column, dollars, short_model, table_of
from holdfast.views.ledger import as_json, day

DESCRIPTION = """Shows past sessions with a goal like this one, most similar first: model, cost, outcome and
failures."""
EXAMPLES = """examples:
  holdfast ledger similar "rate limiting in the gateway"
  holdfast ledger similar "auth" ~/work/api ~/work/web --json"""


OPTIONS = (
    option("goal", metavar="GOAL", help="the task, in your own words"),
    option("places", nargs="*", metavar="DIR", help="read these ledgers instead of this project's"),
    *limit("sessions", "default: 10", default=10),
    flag("--json", "rows with score and reason, as a JSON array"),
)


def run(options: Namespace, machine: Machine) -> None:
    if not options.goal.strip():
        raise UsageError("no goal given", fix='Describe the goal: holdfast ledger similar "rate limiting"')
    ledgers.check_beside_goal(machine, options.places)
    project = machine.project()
    rows, problems = ledgers.read_all(machine, project, options.places, Filter())
    output.warn_all(problems)
    _, past = like(machine, options.goal, rows, options.limit, None if options.places else project)
    titles = ledgers.titles_of(project, [one.entry for one in past])
    table = table_of(
        past,
        (Column("Session", style="cyan"), lambda one: short_session(one.entry.session)),
        (Column("When", dispensable=1), lambda one: day(one.entry.timestamp)[:10]),
        (Column("Model", dispensable=3), lambda one: short_model(one.entry.model)),
        (Column("Outcome"), lambda one: one.entry.outcome or "?"),
        (Column("Failed", "right"), lambda one: _failed(one.entry.failed, one.entry.failures)),
        (Column("Cost", "right", dispensable=2), lambda one: dollars(one.entry.cost_usd)),
        (
            Column("Title", flexible=True),
            lambda one: titles.get(one.entry.session) or " ".join(one.entry.goal),
        ),
        (Column("Why", flexible=True, dispensable=4), lambda one: one.why),
    )
    nothing = f"No similar sessions among {len(rows)}." if rows else EMPTY
    output.answer(
        options,
        [
            {**as_json(one.entry), "title": titles.get(one.entry.session), "score": one.score, "why": one.why}
            for one in past
        ],
        table if past else nothing,
    )


def _failed(number: int | None, reasons: tuple[str, ...]) -> str:
    if not number:
        return "?" if number is None else "0"
    return f"{number} ({', '.join(dict.fromkeys(reasons))})" if reasons else str(number)
