"""A candidate in its owner's editor: what they write counts as learned here, if it can be read; secrets go."""

from __future__ import annotations

import shlex
import subprocess

from holdfast.app.lesson_states import Seen, lesson_store, states
from holdfast.app.lessons import pick
from holdfast.app.projects import new_group
from holdfast.app.wiring import Machine
from holdfast.errors import StoreError, UsageError
from holdfast.store.layout import Project
from holdfast.store.lesson_files import read_file, understood
from holdfast.store.lessons import Changes, Shelf


def edit(machine: Machine, project: Project, name: str) -> Seen:
    """Opens the file in $VISUAL or $EDITOR and reads it again. NotALesson when it is none any more."""
    store = lesson_store(machine, project, new_group())
    before = pick(states(machine, project, store.read()), name)
    editor = machine.env.get("VISUAL") or machine.env.get("EDITOR")
    if not editor:
        raise UsageError("no editor is set", fix="Set EDITOR, such as export EDITOR=nano")
    path = before.found.path
    try:
        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{editor!r} cannot be run: {error}", fix="Set EDITOR to a program that can"
        ) from error
    if done.returncode:
        raise StoreError(f"{editor!r} ended with exit code {done.returncode}", where=str(path))
    written = read_file(path, path.name)
    text = machine.clean(written.data.decode("utf-8"))
    kept = understood(path, written.lesson.name, text.encode("utf-8"), path.name)

    def adopt(shelf: Shelf) -> Changes:
        taught = [(rule, before.lesson.sessions or ("by hand",)) for rule in kept.lesson.rules]
        return Changes(
            lessons={(before.place, kept.lesson.name): kept.data}, record=shelf.record.capture(taught)
        )

    store.change(adopt, "lessons review")
    return pick(states(machine, project, store.read()), before.lesson.name)
