"""`holdfast index`: updates the search index, or rebuilds it."""

from __future__ import annotations

import time

from holdfast.briefing.index import Indexed, update_index
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag

DESCRIPTION = """Updates the search index of this project. Searching does this automatically. --rebuild deletes the
index and builds it again."""
EXAMPLES = """examples:
  holdfast index
  holdfast index --rebuild
"""

OPTIONS = (
    flag("--rebuild", "delete it and build it again"),
    flag("--json", "what was done, as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    began = time.perf_counter()
    if not project.memory.is_dir():
        output.note("Memory is empty. holdfast import reads what agents recorded.")
        done = Indexed()
    else:
        done = update_index(machine, project, rebuild=options.rebuild)
    seconds = time.perf_counter() - began
    output.warn_all(done.problems)
    if options.json:
        counts = {"files": done.files, "chunks": done.chunks, "added": done.added, "removed": done.removed}
        output.show_json({**counts, "seconds": round(seconds, 3)})
    elif project.memory.is_dir():
        output.line(
            f"{output.counted(done.chunks, 'piece')} of {output.counted(done.files, 'file')}: {done.added} added, "
            f"{done.removed} removed ({seconds:.2f} s)."
        )
