"""`holdfast note answer`: answers or closes a question, so that it is not asked again."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.flows import amend
from holdfast.flows import questions as app
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import flat
from holdfast.views import memory as views

DESCRIPTION = """Answers a question, given by its id or its words. From then on, memory answers it. A new answer
replaces the earlier one, which is shown. `holdfast questions` lists questions."""
EXAMPLES = """examples:
  holdfast note answer Q-k3 "eu-west-1"
  holdfast note answer "Which region do we deploy to?" "eu-west-1"
  holdfast note answer Q-k3 --close             it no longer needs an answer
"""


OPTIONS = (
    option("question", metavar="ID|TEXT", help="the question's id, or the question itself"),
    option("answer", nargs="?", metavar="ANSWER", help="the answer"),
    flag("--close", "instead of an answer: close a question that needs none (by its id)"),
    option(
        "--by", choices=("user", "agent"), default="", help="who answers (default: who runs this command)"
    ),
    flag("--json", "the question with its answer as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if options.close:
        return _close(options, machine)
    if options.answer is None:
        raise UsageError("ANSWER is missing", fix="holdfast note answer ID ANSWER, or ID --close")
    closed = app.answer(machine, options.question, options.answer, options.by)
    before = closed.before
    earlier = before and {"answer": before.answer, "by": before.by, "at": views.iso(before.answered_at)}
    output.answer(
        options,
        {"changed": closed.status, **views.question_as_json(closed.question), "before": earlier},
        lambda: _show(closed),
    )


def _close(options: Namespace, machine: Machine) -> None:
    if options.answer is not None or options.by:
        raise UsageError("--close takes no answer", fix="holdfast note answer ID --close")
    question = amend.close_question(machine, options.question)
    output.answer(
        options,
        {"changed": "closed", **views.question_as_json(question), "before": None},
        f"{question.id} closed without an answer: {flat(question.text)}. holdfast undo reopens it.",
    )


def _show(closed: app.ClosedQuestion) -> None:
    question, before = closed.question, closed.before
    text, answered = flat(question.text), flat(question.answer)
    status = {
        "answered": f"answered: {text} → {answered}",
        "recorded": f"answered: {text} → {answered}",
        "unchanged": f"already has this answer: {answered}",
    }
    output.line(f"{question.id} {status[closed.status]}")
    if before is not None:
        source = views.origin(before.by, before.answered_at, before.session)
        output.line(
            f"This contradicts the earlier answer: {flat(before.answer)}{source}. The new answer replaces it."
        )
