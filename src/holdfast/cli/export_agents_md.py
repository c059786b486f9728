"""`holdfast export --agents-md`: a marked section of AGENTS.md, written after a diff and a yes."""

from __future__ import annotations

from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace
from holdfast.terminal.output import plural
from holdfast.upkeep.agents_md import section_of, write_section


def run_section(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    planned = section_of(machine, project, options.file or "")
    value = {"path": str(planned.path), "lines": planned.lines, "diff": planned.diff()}
    if not planned.changes:
        done = (
            f"{planned.path.name} already contains all of it."
            if planned.before
            else "There is nothing to write yet."
        )
        return output.answer(options, {**value, "done": False}, done)
    if not options.json:
        output.show_diff(planned.diff())
    if options.dry_run or (options.json and not options.yes):
        return output.answer(
            options, {**value, "done": False}, f"Would write {plural(planned.lines, 'line')}."
        )
    if not (options.yes or agreed(f"Write this into {planned.path.name}?")):
        return output.line("Nothing was written.")
    write_section(project, planned)
    output.answer(
        options,
        {**value, "done": True},
        f"{planned.path.name}: {plural(planned.lines, 'line')} between the marks. Run it again to update them.",
    )
