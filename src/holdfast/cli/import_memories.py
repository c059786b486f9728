"""`holdfast import --memories`: what other memories say of this project, shown by source, and kept after a yes."""

from __future__ import annotations

from itertools import groupby

from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace
from holdfast.terminal.output import flat, plural
from holdfast.upkeep.foreign_memories import ForeignLine, decline_lines, foreign_lines, keep_lines


def run_memories(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    found = foreign_lines(machine, project)
    if options.json and not options.yes:
        return _show_json(found, [], [])
    if not found:
        return output.answer(
            options,
            {"found": [], "kept": [], "problems": []},
            "Nothing new about this project in other memories.",
        )
    require_person(machine)
    kept: list[ForeignLine] = []
    declined: list[ForeignLine] = []
    for source, group in groupby(found, key=lambda line: line.source):
        lines = list(group)
        if not options.json:
            _show_source(source, lines)
        wanted = options.yes or agreed(
            f"Keep {'it' if len(lines) == 1 else 'these'}?",
            "Add --yes to import all of it, or --json to only see it",
        )
        (kept if wanted else declined).extend(lines)
    problems = keep_lines(machine, project, kept) if kept else []
    if declined:
        decline_lines(project, declined)
    if options.json:
        return _show_json(found, kept, problems)
    output.warn_all(problems)
    output.line(f"{plural(len(kept), 'line')} imported as your decisions, each with its source.")
    if kept:
        output.note(
            "Agents that read a source themselves do not see its lines twice. holdfast undo removes the last one."
        )


def _show_source(source: str, lines: list[ForeignLine]) -> None:
    readers = ", ".join(lines[0].readers)
    output.heading(f"{source} ({len(lines)})")
    for line in lines:
        output.item(flat(line.text))
    output.aside(
        f"{readers} read it already and do not see it twice" if readers else "no agent reads it itself", 2
    )


def _show_json(found: list[ForeignLine], kept: list[ForeignLine], problems: list[str]) -> None:
    output.show_json(
        {
            "found": [
                {"id": line.id, "text": line.text, "source": line.source, "readers": list(line.readers)}
                for line in found
            ],
            "kept": [line.id for line in kept],
            "problems": problems,
        }
    )
