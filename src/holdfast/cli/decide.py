"""`holdfast note decision`: keeps a decision and its reason; lists, changes, confirms and retires decisions."""

from __future__ import annotations

from holdfast.cli.note import refuse_command_word
from holdfast.core.errors import UsageError
from holdfast.flows import amend
from holdfast.flows import questions as app
from holdfast.terminal import output
from holdfast.terminal.options import SUPPRESS, Machine, Namespace, Verb, flag, limit, newest, of_verb, option
from holdfast.terminal.output import flat
from holdfast.upkeep.one_decision import view_decision
from holdfast.views import memory as views
from holdfast.views.decision import show_decision

DESCRIPTION = """Records a decision with its reason, so that later sessions follow it. The same decision in other
words is stored once. If it clearly contradicts an earlier one (the opposite, or another value for the same thing), both
stay and an open question asks which one holds; a finer difference is not noticed: change or retire the earlier one.
Without TEXT, lists your decisions. ID may also be a decision from a session (holdfast log --decisions), or an id from
before a decision was reworded."""
EXAMPLES = """examples:
  holdfast note decision "Use pnpm, not npm" --because "the lock file is pnpm's"
  holdfast note decision add "Retry uploads twice" --by user
  holdfast note decision list --json
  holdfast note decision show D-k3                              reason, source, what it replaced, who was told
  holdfast note decision change D-k3 "Use pnpm 9, not npm"      reworded; a new text gets a new id
  holdfast note decision confirm D-k3                           you agree with what an agent decided
  holdfast note decision retire D-k3                            it no longer holds; no session brings it back
"""

_JSON = flag("--json", "the decision as JSON", default=SUPPRESS)
_ID = option("id", metavar="ID", help="the decision's id, or a prefix of it")
OPTIONS = (
    flag("--list", "list your decisions (the default without TEXT)"),
    *limit("decisions, the newest", "default: all"),
    flag("--json", "the decision or decisions as JSON"),
)
DEFAULT_VERB = "add"
VERBS = {
    "list": Verb("list your decisions (the default)", of_verb(*OPTIONS)),
    "add": Verb(
        "record a decision (TEXT without a verb does the same)",
        (
            option("text", metavar="TEXT", help="the decision, in one sentence"),
            option("--because", metavar="WHY", help="the reason"),
            option(
                "--by",
                choices=("user", "agent"),
                default="",
                help="who decided (default: who runs this command)",
            ),
            flag("--list", SUPPRESS, default=SUPPRESS),
            _JSON,
        ),
    ),
    "show": Verb(
        "show one decision: its reason, its source, what it replaced and who was told", (_ID, _JSON)
    ),
    "change": Verb(
        "reword a decision",
        (
            _ID,
            option("text", metavar="TEXT", help="the decision as it should read"),
            option("--because", metavar="WHY", help="the reason (default: as before)"),
            _JSON,
        ),
    ),
    "confirm": Verb("confirm what an agent decided or proposed", (_ID, _JSON)),
    "retire": Verb("mark a decision as no longer valid; no session brings it back", (_ID, _JSON)),
}


def run_add(options: Namespace, machine: Machine) -> None:
    if options.list:
        raise UsageError("--list takes no TEXT", fix="holdfast note decision TEXT --because WHY records one")
    refuse_command_word(options.text, "decision")
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
        status = f"is already recorded{views.origin(decision.by, decision.at, decision.session)}"
    else:
        status = f"recorded{views.origin(decision.by, None, '')}"
    output.line(f"{decision.id} {status}: {flat(decision.text)}{why}")
    views.show_contradictions(
        decided.contradictions, "Is one of them no longer valid? holdfast note decision retire {id}."
    )


def run_show(options: Namespace, machine: Machine) -> None:
    show_decision(options, view_decision(machine, options.id))


def run_change(options: Namespace, machine: Machine) -> None:
    done = amend.change_decision(machine, options.id, options.text, options.because)
    output.answer(
        options,
        {"status": "changed", "id": done.id, "text": done.text},
        f"{done.id} now: {flat(done.text)}. holdfast undo takes that back.",
    )
    _say_if_shared(
        machine, done.was, f"holdfast share {done.id} puts the new words in the place of the old ones."
    )


def run_confirm(options: Namespace, machine: Machine) -> None:
    agreed = amend.confirm(machine, options.id)
    output.answer(
        options,
        {**views.statement_as_json(agreed), "status": "confirmed"},
        f"{agreed.id} confirmed, and now counts as your decision: {flat(agreed.text)}. holdfast undo takes that back.",
    )


def run_retire(options: Namespace, machine: Machine) -> None:
    retired = app.retire(machine, options.id)
    output.answer(
        options,
        {"status": "retired", **views.statement_as_json(retired)},
        f"{retired.id} retired: {flat(retired.text)}. holdfast undo takes that back.",
    )
    _say_if_shared(machine, retired.id, f"holdfast share --undo {retired.id} takes it out of the repository.")


def _say_if_shared(machine: Machine, id: str, fix: str) -> None:
    from holdfast.flows.decision_sharing import is_shared

    if is_shared(machine.project(), id):
        output.note(f"Your team still follows what you shared as {id}. {fix}")


def run(options: Namespace, machine: Machine) -> None:
    file = app.read_decisions(machine)
    output.warn_all(problem.message for problem in file.problems)
    decisions = newest(file.reference.decisions, options.limit, lambda decision: decision.at)
    nothing = "No decisions yet. holdfast note decision TEXT --because WHY records one."
    output.answer(
        options,
        views.with_origins(machine, [views.decision_as_json(decision) for decision in decisions]),
        views.decisions_table(decisions) if decisions else nothing,
    )
