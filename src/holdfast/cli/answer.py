"""`holdfast answer`: closes a question, so that it is not asked again."""

from __future__ import annotations

from holdfast.cli import memory_views as views
from holdfast.cli import output
from holdfast.cli.options import Machine, Namespace, flag, option
from holdfast.flows import questions as app

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
    question, before = closed.question, closed.before
    if options.json:
        earlier = before and {"answer": before.answer, "by": before.by, "at": views.iso(before.answered_at)}
        return output.show_json(
            {"changed": closed.status, **views.question_as_json(question), "before": earlier}
        )
    text, answered = views.flat(question.text), views.flat(question.answer)
    told = {
        "answered": f"{question.id} answered: {text} → {answered}",
        "recorded": f"{question.id} recorded with its answer: {text} → {answered}",
        "unchanged": f"{question.id} was answered so already: {answered}",
    }
    output.line(told[closed.status])
    if before is not None:
        given = views.origin(before.by, before.answered_at, before.session)
        output.line(
            f"Contradicts the earlier answer: {views.flat(before.answer)}{given}. The new one counts."
        )
