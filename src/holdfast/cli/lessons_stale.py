"""`holdfast lessons stale` and `refresh`: what is skipped and why, and what became of it."""

from __future__ import annotations

import argparse

from holdfast.app import lesson_freshness as app
from holdfast.app.wiring import Machine
from holdfast.cli import lesson_views as views
from holdfast.cli import output
from holdfast.cli.memory_views import flat
from holdfast.cli.output import Column, Table

_SAID = {
    "rewritten": "rewritten: {}",
    "kept": "holds, with new hashes: {}",
    "retired": "retired, all it depends on is gone: {}",
    "left": "left stale, only you can tell whether it holds: {}",
}


def run(options: argparse.Namespace, machine: Machine) -> int:
    return _refresh(options, machine) if options.verb == "refresh" else _stale(options, machine)


def _stale(options: argparse.Namespace, machine: Machine) -> int:
    seen = app.stale(machine, machine.project())
    if options.json:
        output.show_json([views.as_json(one) for one in seen])
    elif not seen:
        output.line("No lesson is stale.")
    else:
        columns = (
            Column("Lesson", style="cyan"),
            Column("Scope", dispensable=1),
            Column("What has changed", flexible=True, wrapped=True),
            Column("What it says", flexible=True, wrapped=True),
        )
        rows = [
            [one.lesson.name, views.WHERE[one.place], "; ".join(one.drift), "; ".join(one.lesson.rules)]
            for one in seen
        ]
        output.show(Table(columns, rows))
        output.note(
            "They are not told. holdfast lessons refresh brings them up to date, or says that it cannot."
        )
    return 0


def _refresh(options: argparse.Namespace, machine: Machine) -> int:
    done = app.refresh(machine, machine.project(), options.names, keep=options.keep)
    if options.json:
        output.show_json(
            [
                {
                    "name": one.lesson.name,
                    "done": one.done,
                    "rules": list(one.lesson.rules),
                    "because": list(one.drift),
                    "told_by": one.told_by,
                }
                for one in done
            ]
        )
        return 0
    for one in done:
        output.line(f"{one.lesson.name} {_SAID[one.done].format(flat('; '.join(one.lesson.rules)))}")
        output.aside("; ".join(one.drift), indent=2)
    if not done:
        output.line("No lesson of this project is stale.")
    if any(one.done == "left" for one in done):
        output.note("Still true? holdfast lessons refresh NAME --keep. If not: holdfast lessons rm NAME.")
    elif done:
        output.note("holdfast undo takes it back.")
    return 0
