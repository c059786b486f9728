"""`holdfast lessons trust`: shows what came with a repository, all of it, before anybody is asked to agree."""

from __future__ import annotations

import argparse

from holdfast.cli import lesson_views as views
from holdfast.cli import output
from holdfast.cli.consent import agreed
from holdfast.core.errors import UsageError
from holdfast.flows import lesson_sharing as app
from holdfast.flows.lessons import read_lessons
from holdfast.store.machine import Machine


def trust(machine: Machine, options: argparse.Namespace) -> int:
    project = machine.project()
    if options.all and options.names:
        raise UsageError("--all and names at once", fix="Say one of them")
    if options.revoke:
        names = app.revoke(machine, project, options.names)
        return _told(options.json, f"No longer trusted: {', '.join(names)}.", trusted=[], revoked=names)
    for problem in read_lessons(machine, project).problems:
        if problem.startswith(".holdfast/lessons"):
            output.warn(problem)
    seen = app.to_trust(machine, project, options.names)
    if not seen:
        nothing = "These are trusted already." if options.names else "Nothing here waits for your trust."
        return _told(options.json, nothing, trusted=[], waiting=[])
    if options.yes and not options.names and not options.all:
        raise UsageError("--yes to what?", fix="Name the lessons, or say --all")
    if options.json and not options.yes:
        return _told(True, "", trusted=[], waiting=[views.as_json(one) for one in seen])
    if not options.json:
        for one in seen:
            views.show(one)
            output.line()
    names = [one.lesson.name for one in seen]
    which = f"these {len(names)} lessons" if len(names) > 1 else f"the lesson {names[0]}"
    if not options.yes and not agreed(f"Tell agents {which}?", "Say --yes with NAME or --all to agree"):
        output.line("Nothing was changed.")
        return 1
    app.agree(machine, project, seen)
    said = f"Trusted as they are now: {', '.join(names)}. Any change takes it back."
    return _told(options.json, said, trusted=names, waiting=[])


def _told(as_json: bool, line: str, **values: object) -> int:
    if as_json:
        output.show_json(values)
    else:
        output.line(line)
    return 0
