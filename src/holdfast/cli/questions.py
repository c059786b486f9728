"""`holdfast questions`: what was asked in this project, open questions first."""

from __future__ import annotations

from holdfast.flows.questions import read_questions
from holdfast.sync.conflict_text import label
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, limit, newest
from holdfast.views import memory as views
from holdfast.views.conflicts import conflict_as_question, conflicts_here

EXAMPLES = """examples:
  holdfast questions
  holdfast questions --open -n 5
"""

OPTIONS = (
    flag("--open", "only open questions", group="which"),
    flag("--answered", "only answered and closed questions", group="which"),
    *limit("questions, the newest", "default: all"),
    flag("--json", "the questions as a JSON array"),
)


def run(options: Namespace, machine: Machine) -> None:
    file = read_questions(machine)
    output.warn_all(problem.message for problem in file.problems)
    wanted = [
        question
        for question in file.questions
        if not (options.open and not question.open) and not (options.answered and question.open)
    ]
    chosen = newest(wanted, options.limit, lambda question: question.at)
    questions = sorted(chosen, key=lambda question: not question.open)
    conflicts = [] if options.answered else conflicts_here(machine.project())
    which = " open" if options.open else " answered" if options.answered else ""
    if options.json:
        asked = views.with_origins(machine, [views.question_as_json(question) for question in questions])
        output.show_json([*map(conflict_as_question, conflicts), *asked])
        return
    for conflict in conflicts:
        output.line(f"{conflict.name}  {label(conflict)}: holdfast sync --conflicts", under=10)
    if questions:
        output.show(views.questions_table(questions))
    elif not conflicts:
        output.line(f"No{which} questions. holdfast ask TEXT --keep records one.")
