"""`holdfast decide`: records a decision and its reason; without a text, lists the decisions."""

from __future__ import annotations

from holdfast.cli import memory_views as views
from holdfast.core.errors import UsageError
from holdfast.flows import questions as app
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, limit, newest, option
from holdfast.terminal.output import flat

DESCRIPTION = """Keeps a decision with its reason in the register of reference.md, so that later sessions follow it and
do not settle it again. The same decision in other words is kept once; one that contradicts an earlier decision is
kept beside it, both are shown, and an open question asks which holds. `decide retire ID` takes one out for good: no
session brings it back. Without TEXT the register is listed."""
EXAMPLES = """examples:
  holdfast decide "Use pnpm, not npm" --because "the lock file is pnpm's"
  holdfast decide retire D-k3
  holdfast decide --list --json
"""


OPTIONS = (
    option("text", nargs="?", metavar="TEXT", help="the decision, in one sentence"),
    option("id", nargs="?", metavar="ID", help="only after `retire`: which decision no longer counts"),
    option("--because", metavar="WHY", help="the reason"),
    option(
        "--by", choices=("user", "agent"), default="", help="who decided (default: who runs this command)"
    ),
    flag("--list", "list the register"),
    *limit("decisions of the register, the newest", "default: all"),
    flag("--json", "the decision, or the register, as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if options.id is not None or options.text == "retire":
        return _retire(options, machine)
    if options.text is None or options.list:
        return _list(options, machine)
    decided = app.decide(machine, options.text, options.because, options.by)
    value = {
        "status": decided.status,
        **views.decision_as_json(decided.decision),
        "contradicts": views.clashes_as_json(decided.contradictions),
    }
    output.answer(options, value, lambda: _show(decided))


def _show(decided: app.DecisionChange) -> None:
    decision = decided.decision
    why = f" (because {flat(decision.rationale)})" if decision.rationale else ""
    if decided.status == "merged":
        status = f"was decided already{views.origin(decision.by, decision.at, decision.session)}"
    else:
        status = f"recorded{views.origin(decision.by, None, '')}"
    output.line(f"{decision.id} {status}: {flat(decision.text)}{why}")
    views.show_contradictions(decided.contradictions, "Which no longer counts? holdfast decide retire {id}.")


def _retire(options: Namespace, machine: Machine) -> None:
    if options.text != "retire":
        raise UsageError("a decision is one text", fix='Quote it: holdfast decide "TEXT" --because "WHY"')
    if options.id is None or options.because or options.by or options.list:
        raise UsageError(
            "retire takes the id of a decision and nothing else", fix=f"{app.DECISION_LISTING} shows them"
        )
    retired = app.retire(machine, options.id)
    output.answer(
        options,
        {"status": "retired", **views.statement_as_json(retired)},
        f"{retired.id} retired: {flat(retired.text)}. holdfast undo takes that back.",
    )


def _list(options: Namespace, machine: Machine) -> None:
    if options.because or options.by or options.text is not None:
        raise UsageError("--list takes no decision", fix="holdfast decide TEXT --because WHY keeps one")
    file = app.read_decisions(machine)
    output.warn_all(problem.message for problem in file.problems)
    decisions = newest(file.reference.decisions, options.limit, lambda decision: decision.at)
    nothing = "No decisions yet. holdfast decide TEXT --because WHY keeps one."
    output.answer(
        options,
        views.with_origins(machine, [views.decision_as_json(decision) for decision in decisions]),
        views.decisions_table(decisions) if decisions else nothing,
    )
