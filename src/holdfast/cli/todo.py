"""`holdfast todo`: what is to be done in this project, in current.md."""

from __future__ import annotations

import argparse

from holdfast.cli import memory_views as views
from holdfast.cli import output
from holdfast.cli.memory_views import flat
from holdfast.flows import todos as app
from holdfast.store.machine import Machine

DESCRIPTION = """To-dos of this repository, in current.md, which every new session reads. What sessions left open comes
there by itself; what you add stays until you say that it is done. Boxes that you write into the file
yourself count too: done ticks them where they stand. Listed are those of this branch and of none, of the project that
this branch works on.
ID may be the beginning of an id."""
EXAMPLES = """examples:
  holdfast todo
  holdfast todo --project billing
  holdfast todo add "Rotate the webhook key" --priority high --owner user --because "it leaked"
  holdfast todo done T-k3 T-9a
"""


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    listing = verbs.add_parser("list", help="what is to be done, the urgent first (the default)")
    # What is said before the verb counts too: a verb's own default must not overwrite it.
    for place, default in ((parser, False), (listing, argparse.SUPPRESS)):
        place.add_argument(
            "--all", action="store_true", default=default, help="those of other branches and ticked ones too"
        )
        place.add_argument(
            "--project",
            default="" if place is parser else default,
            metavar="NAME",
            help="of another project of this repository (default: the one this branch works on; with --all every one)",
        )
    add = verbs.add_parser("add", help="note something to be done")
    add.add_argument("text", metavar="TEXT", help="what is to be done")
    add.add_argument(
        "--priority", choices=("high", "normal", "low"), default=None, help="default: normal, or as it was"
    )
    add.add_argument("--owner", choices=("user", "agent"), default=None, help="who is to do it")
    add.add_argument("--because", metavar="WHY", help="why it matters")
    done = verbs.add_parser("done", help="take to-dos out that are done")
    drop = verbs.add_parser("drop", help="take to-dos out that nobody will do")
    for verb in (done, drop):
        verb.add_argument("ids", nargs="+", metavar="ID", help="the to-do's id, or the beginning of it")
    parser.add_argument("--json", action="store_true", help="the to-dos as JSON")
    for verb in (listing, add, done, drop):
        verb.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="the to-dos as JSON")


def run(options: argparse.Namespace, machine: Machine) -> int:
    if options.verb == "add":
        noted = app.add_todo(machine, options.text, options.priority, options.owner, options.because)
        if options.json:
            output.show_json({"status": noted.status, **views.todo_as_json(noted.item)})
        else:
            told = "added" if noted.status == "added" else "is there already, and yours now"
            output.line(f"{noted.item.id} {told}: {flat(noted.item.text)}")
    elif options.verb in ("done", "drop"):
        gone = app.close_todos(machine, options.ids, done=options.verb == "done")
        if options.json:
            output.show_json([views.todo_as_json(item, done=options.verb == "done") for item in gone])
        for item in gone if not options.json else ():
            output.line(f"{item.id} {'done' if options.verb == 'done' else 'dropped'}: {flat(item.text)}")
    else:
        _list(options, machine)
    return 0


def _list(options: argparse.Namespace, machine: Machine) -> None:
    listed, problems = app.list_todos(machine, everything=options.all, name=options.project)
    views.warn_of(problems)
    items = [(one.item, one.done) for one in listed]
    if options.json:
        output.show_json([views.todo_as_json(item, done=done) for item, done in items])
    elif items:
        output.show(views.todos_table(items, branches=options.all))
    elif not options.all and app.list_todos(machine, everything=True)[0]:
        output.line(
            "Nothing to do on this branch. holdfast todo --all lists what other branches and projects left."
        )
    else:
        output.line("Nothing to do. holdfast todo add TEXT notes something.")
