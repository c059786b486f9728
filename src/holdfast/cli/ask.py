"""`holdfast ask`: an answer from the record, else the few lines that a task needs; writes nothing unless told to."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.briefing.recall import BUDGET, Briefing, recall
from holdfast.cli.recall import show_lines
from holdfast.core.errors import StoreError, UsageError
from holdfast.flows import questions as app
from holdfast.flows.questions import Reply
from holdfast.terminal import output
from holdfast.terminal.options import SUPPRESS, Machine, Namespace, count, flag, option
from holdfast.terminal.output import flat
from holdfast.views import memory as views

DESCRIPTION = """Answers from the record: a question answered before, a decision, or a fact. A near match is offered
as "perhaps". If there is no answer, shows the few lines that fit. Asking writes nothing; with --keep, an unanswered
question is recorded as open until you answer it (holdfast note answer)."""
EXAMPLES = """examples:
  holdfast ask "Which region do we deploy to?"
  holdfast ask "fix the flaky refresh test"
  holdfast ask "Which region do we deploy to?" --keep      and record it if it has no answer
  holdfast ask "add a discount rule" --budget 400 --json
"""


OPTIONS = (
    option("text", nargs="+", metavar="TEXT", help="a question or a task"),
    flag("--keep", "record an unanswered question as open"),
    flag("--no-record", SUPPRESS),  # of before 1.0: only the answer, not even the derived index is written
    option(
        "--budget",
        type=count,
        default=BUDGET,
        metavar="N",
        help=f"at most N tokens of lines (default: {BUDGET})",
    ),
    flag("--why", "also show why each line is there, and its source (as on a terminal)"),
    flag("--json", "the reply as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if options.keep and options.no_record:
        raise UsageError("--keep and --no-record cannot be used together", fix="Leave one of them out")
    text = " ".join(options.text)
    reply = app.ask(machine, text, record=options.keep)
    if reply.status == "answered" and options.keep:
        try:
            app.count_answer(machine, reply)
        except StoreError as error:  # the answer is worth more than having counted it
            output.warn(error.line())
    lines = None
    if reply.status in ("open", "recorded") and options.budget and not options.no_record:
        lines = recall(machine, machine.project(), text, options.budget)
        reply = app.because(machine, reply, [line.id for line in lines.lines])
        known = {reply.id, *(near.id for near in reply.perhaps)}
        if reply.status == "answered":
            lines = None
        else:  # no line twice
            lines = replace(lines, lines=tuple(line for line in lines.lines if line.id not in known))
    value = {**_as_json(reply), "lines": lines.as_json()["lines"] if lines else []}
    output.answer(options, value, lambda: _show_all(options, reply, lines))


def _show_all(options: Namespace, reply: Reply, lines: Briefing | None) -> None:
    known = lines is not None and bool(lines.lines)
    if known and reply.status == "open" and not reply.id and not reply.perhaps:
        output.note("No answer in memory. What fits:")
    else:
        _show(reply)
    if lines is not None and known:
        show_lines(lines, why=options.why)


def _show(reply: Reply) -> None:
    question_source = views.origin("", reply.at, reply.session)
    if reply.status == "answered":
        source = f"{views.origin(reply.by, reply.at, reply.session)} · .holdfast/local/{reply.source}"
        output.lines(flat(reply.answer), f"  {reply.id}{source}")
        for statement in reply.against:
            given = views.origin("", statement.at, statement.session)
            output.line(f"  But {statement.id} says: {flat(statement.text)}{given}")
    elif reply.status == "recorded":
        output.line(
            f"No answer yet. Recorded as {reply.id}; holdfast note answer {reply.id} ANSWER closes it."
        )
    elif reply.status == "closed":
        output.line(
            f"Asked before, and closed without an answer: {reply.id}{question_source}. Do not ask it again."
        )
    elif reply.id:
        output.line(
            f"Asked before and still open: {reply.id}{question_source}. "
            f"holdfast note answer {reply.id} ANSWER closes it."
        )
    else:
        output.line("No answer in memory. Add --keep to record the question.")
    for near in reply.perhaps:
        output.lines(
            f"  perhaps: {flat(near.text)}",
            f"    {near.id}{views.origin('', near.at, near.session)} · .holdfast/local/{near.source}",
        )


def _as_json(reply: Reply) -> dict[str, object]:
    return {
        "question": reply.question,
        "status": reply.status,
        "id": reply.id,
        "answer": reply.answer,
        "by": reply.by,
        "at": views.iso(reply.at),
        "session": reply.session,
        "source": reply.source,
        "perhaps": [
            {"id": near.id, "text": near.text, "at": views.iso(near.at), "source": near.source}
            for near in reply.perhaps
        ],
        "contradicted_by": [{"id": statement.id, "text": statement.text} for statement in reply.against],
    }
