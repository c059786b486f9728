"""`holdfast questions`: what was asked in this project, open questions first."""

from __future__ import annotations

import argparse

from holdfast.cli import memory_views as views
from holdfast.cli import output
from holdfast.core.errors import UsageError
from holdfast.flows.questions import read_questions
from holdfast.store.machine import Machine


def configure(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--open", action="store_true", help="only questions that nobody has answered")
    which.add_argument(
        "--answered", action="store_true", help="only answered questions, and those closed by hand"
    )
    parser.add_argument("-n", type=int, default=0, metavar="N", help="only the newest N (default: all)")
    parser.add_argument("--json", action="store_true", help="the questions as a JSON array")


def run(options: argparse.Namespace, machine: Machine) -> int:
    file = read_questions(machine)
    views.warn_of(file.problems)
    wanted = [
        question
        for question in file.questions
        if not (options.open and not question.open) and not (options.answered and question.open)
    ]
    if options.n < 0:
        raise UsageError("-n must be 1 or more")
    if options.n:
        newest = sorted(wanted, key=lambda question: question.at or 0.0, reverse=True)[: options.n]
        wanted = [question for question in wanted if question in newest]
    shown = sorted(wanted, key=lambda question: not question.open)
    if options.json:
        output.show_json([views.question_as_json(question) for question in shown])
    elif shown:
        output.show(views.questions_table(shown))
    else:
        which = " open" if options.open else " answered" if options.answered else ""
        output.line(f"No{which} questions. holdfast ask TEXT asks one.")
    return 0
