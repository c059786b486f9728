"""`holdfast todo`: what to do in this project, in current.md."""

from __future__ import annotations

from holdfast.core.errors import UsageError
from holdfast.flows import todos as app
from holdfast.ledger.rows import session_titles
from holdfast.terminal import output
from holdfast.terminal.options import SUPPRESS, Machine, Namespace, Verb, flag, limit, of_verb, option
from holdfast.terminal.output import flat
from holdfast.views import memory as views

DESCRIPTION = """Lists the to-dos of this branch. New sessions see them. Sessions add what they left open; what you
add stays until you close it. Checkboxes that you write into current.md count too."""
EXAMPLES = """examples:
  holdfast todo
  holdfast todo --project billing
  holdfast todo add "Rotate the webhook key" --priority high --owner user --because "it leaked"
  holdfast todo change T-k3 "Rotate both webhook keys" --priority normal
  holdfast todo done T-k3 T-9a
  holdfast todo drop T-9a
"""


_JSON = flag("--json", "the to-dos as JSON", default=SUPPRESS)
_PRIORITIES = ("high", "normal", "low")
_IDS = option("ids", nargs="+", metavar="ID", help="the to-do's id, or a prefix of it")
OPTIONS = (
    flag("--all", "include other branches and closed to-dos"),
    *limit("to-dos, most urgent first", "default: all"),
    option(
        "--project",
        default="",
        metavar="NAME",
        help="list those of another project (default: the one this branch works on; with --all every project)",
    ),
    flag("--json", "the to-dos as JSON"),
)
VERBS = {
    "list": Verb("list to-dos, most urgent first (the default)", of_verb(*OPTIONS)),
    "add": Verb(
        "add a to-do",
        (
            option("text", metavar="TEXT", help="what to do"),
            option("--priority", choices=_PRIORITIES, help="default: normal, or unchanged"),
            option("--owner", choices=("user", "agent"), help="who should do it"),
            option("--because", metavar="WHY", help="why it matters"),
            _JSON,
        ),
    ),
    "change": Verb(
        "reword a to-do",
        (
            option("id", metavar="ID", help="the to-do's id, or a prefix of it"),
            option("text", nargs="?", metavar="TEXT", help="what to do (default: as before)"),
            option("--priority", choices=_PRIORITIES, help="default: as before"),
            option("--because", metavar="WHY", help="why it matters (default: as before)"),
            _JSON,
        ),
    ),
    "done": Verb("close to-dos that are done", (_IDS, _JSON)),
    "drop": Verb("drop to-dos that will not be done", (_IDS, _JSON)),
}


def run(options: Namespace, machine: Machine) -> None:
    listed, problems = app.list_todos(machine, everything=options.all, name=options.project)
    output.warn_all(problem.message for problem in problems)
    items = [(todo.item, todo.closed) for todo in listed][: options.limit]
    nothing = "No to-dos. holdfast todo add TEXT adds one."
    elsewhere = () if items or options.all else app.list_todos(machine, everything=True)[0]
    if any(not todo.closed for todo in elsewhere):
        nothing = "No to-dos on this branch. holdfast todo --all lists those of other branches and projects."
    titles = session_titles(machine.project(), [item.session for item, _ in items if item.session])
    output.answer(
        options,
        [views.todo_as_json(item, closed=closed) for item, closed in items],
        views.todos_table(items, titles, branches=options.all) if items else nothing,
    )


def run_add(options: Namespace, machine: Machine) -> None:
    added = app.add_todo(machine, options.text, options.priority, options.owner, options.because)
    status = "added" if added.status == "added" else "is already there, and is now yours"
    output.answer(
        options,
        {"status": added.status, **views.todo_as_json(added.item)},
        f"{added.item.id} {status}: {flat(added.item.text)}",
    )


def run_change(options: Namespace, machine: Machine) -> None:
    if options.text is options.priority is options.because is None:
        raise UsageError("nothing to change", fix="holdfast todo change ID TEXT, --priority or --because")
    changed = app.change_todo(machine, options.id, options.text, options.because, options.priority)
    output.answer(
        options,
        {"status": "changed", **views.todo_as_json(changed)},
        f"{changed.id} now: {flat(changed.text)}. holdfast undo takes that back.",
    )


def run_done(options: Namespace, machine: Machine) -> None:
    _close(options, machine, "done")


def run_drop(options: Namespace, machine: Machine) -> None:
    _close(options, machine, "dropped")


def _close(options: Namespace, machine: Machine, word: str) -> None:
    done = word == "done"
    closed = app.close_todos(machine, options.ids, done=done)
    output.answer(
        options,
        [views.todo_as_json(item, closed=word) for item in closed],
        lambda: output.lines(*(f"{item.id} {word}: {flat(item.text)}" for item in closed)),
    )
