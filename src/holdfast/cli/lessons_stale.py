"""`holdfast lessons stale` and `refresh`: what is skipped and why, and what became of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from holdfast.cli import lesson_views as views
from holdfast.cli import output
from holdfast.cli.memory_views import flat
from holdfast.cli.output import Column, Table
from holdfast.flows import lesson_upkeep as app
from holdfast.lessons.states import Seen
from holdfast.store.machine import Machine

_SAID = {
    ("rewritten", "repository"): "rewritten, as the repository has it now",
    ("rewritten", "sessions"): "rewritten, as sessions since the change show it",
    ("kept", "repository"): "still holds: the repository still defines it",
    ("kept", "sessions"): "still holds: sessions since the change show it again",
    ("kept", "person"): "still holds: you say so",
    ("retired", "repository"): "retired: all it depends on is gone",
    ("retired", "sessions"): "retired: no session since the change met it",
    ("left", ""): "still stale: only you can tell whether it holds",
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
        _show_stale(seen)
        output.note("They are not told to agents. holdfast lessons refresh renews or retires them.")
    return 0


def _show_stale(seen: Sequence[Seen]) -> None:
    if output.is_narrow():
        for one in seen:
            output.heading(one.lesson.name)
            output.wrapped(flat("; ".join(one.lesson.rules)), indent=2)
            output.aside("; ".join(one.drift), indent=2)
        return
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
        output.heading(f"{one.lesson.name} · {_SAID[one.done, one.told_by]}")
        output.wrapped(flat("; ".join(one.lesson.rules)), indent=2)
        output.aside("; ".join(one.drift), indent=2)
    if not done:
        output.line("No lesson of this project is stale.")
    if any(one.done == "left" for one in done):
        output.note("Still true? holdfast lessons refresh NAME --keep. If not: holdfast lessons rm NAME.")
    elif done:
        output.note("holdfast undo takes it back.")
    return 0
