"""`holdfast answer`: closes a question, so that it is not asked again."""

from __future__ import annotations

from holdfast.cli import memory_views as views
from holdfast.flows import questions as app
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import flat

DESCRIPTION = """Closes a question, named by its id (or the beginning of it) or by its words. Asked again, in any
session, it is answered from the record. Another answer than before counts from now on, and the earlier one is shown."""
EXAMPLES = """examples:
  holdfast answer Q-k3 "eu-west-1"
  holdfast answer "Which region do we deploy to?" "eu-west-1"
"""


OPTIONS = (
    option("question", metavar="ID|TEXT", help="the question's id, or the question itself"),
    option("answer", metavar="ANSWER", help="the answer"),
    option(
        "--by", choices=("user", "agent"), default="", help="who answers (default: who runs this command)"
    ),
    flag("--json", "the question with its answer as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    closed = app.answer(machine, options.question, options.answer, options.by)
    before = closed.before
    earlier = before and {"answer": before.answer, "by": before.by, "at": views.iso(before.answered_at)}
    output.answer(
        options,
        {"changed": closed.status, **views.question_as_json(closed.question), "before": earlier},
        lambda: _show(closed),
    )


def _show(closed: app.ClosedQuestion) -> None:
    question, before = closed.question, closed.before
    text, answered = flat(question.text), flat(question.answer)
    status = {
        "answered": f"answered: {text} → {answered}",
        "recorded": f"recorded with its answer: {text} → {answered}",
        "unchanged": f"was answered so already: {answered}",
    }
    output.line(f"{question.id} {status[closed.status]}")
    if before is not None:
        source = views.origin(before.by, before.answered_at, before.session)
        output.line(f"Contradicts the earlier answer: {flat(before.answer)}{source}. The new one counts.")
