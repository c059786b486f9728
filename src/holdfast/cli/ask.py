"""`holdfast ask`: answers a question from memory, or records it as open."""

from __future__ import annotations

from holdfast.cli import memory_views as views
from holdfast.core.errors import StoreError
from holdfast.flows import questions as app
from holdfast.flows.questions import Reply
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import flat

DESCRIPTION = """Answers from the record: a question that was answered before, in these or in other words, else a
decision or a fact that says it. What is near and may not be the answer is offered as "perhaps". What nobody has
answered is kept as an open question of this project."""
EXAMPLES = """examples:
  holdfast ask "Which region do we deploy to?"
  holdfast ask "Which region do we deploy to?" --no-record --json
"""


OPTIONS = (
    option("text", metavar="TEXT", help="the question"),
    flag("--no-record", "only look; write nothing"),
    flag("--json", "the reply as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    reply = app.ask(machine, options.text, record=not options.no_record)
    if reply.status == "answered" and not options.no_record:
        try:
            app.count_answer(machine, reply)
        except StoreError as error:  # the answer is worth more than having counted it
            output.warn(error.line())
    output.answer(options, _as_json(reply), lambda: _show(reply))


def _show(reply: Reply) -> None:
    question_source = views.origin("", reply.at, reply.session)
    if reply.status == "answered":
        source = f"{views.origin(reply.by, reply.at, reply.session)} · .holdfast/local/{reply.source}"
        output.lines(flat(reply.answer), f"  {reply.id}{source}")
        for statement in reply.against:
            given = views.origin("", statement.at, statement.session)
            output.line(f"  But {statement.id} says: {flat(statement.text)}{given}")
    elif reply.status == "recorded":
        output.line(f"Not answered yet. Kept as {reply.id}; holdfast answer {reply.id} ANSWER closes it.")
    elif reply.status == "closed":
        output.line(
            f"Asked before and closed by hand without an answer: {reply.id}{question_source}. Do not ask it again."
        )
    elif reply.id:
        output.line(
            f"Asked before and still open: {reply.id}{question_source}. holdfast answer {reply.id} ANSWER closes it."
        )
    else:
        output.line("Not answered yet, and not asked before.")
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
