"""`holdfast du`: what takes room on disk, by kind and project."""

from __future__ import annotations

import os

import msgspec

from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag
from holdfast.terminal.output import Column, table_of
from holdfast.upkeep.disk_use import MB, Room, plan_prune, rooms

DESCRIPTION = """Shows what ~/.holdfast uses on disk, largest first: memory (what people read), versions (for undo),
sessions (capture.db, edits.db), transcripts (copies you asked for), usage (for `holdfast cost`), hooks, derived (can
be rebuilt), traces, backups, cache and leftovers."""
EXAMPLES = """examples:
  holdfast du          every project and kind
  holdfast du --json   the same in bytes"""

OPTIONS = (flag("--json", "sizes in bytes as JSON"),)
OVER = "the rest is memory, which is never removed"


def size_text(size: int) -> str:
    """`2.1 GB`, `1.4 MB`, `12 kB`."""
    if size >= 1000 * MB:
        return f"{size / MB / 1000:,.1f} GB"
    return f"{size / MB:,.1f} MB" if size >= MB else f"{size / 1000:,.0f} kB" if size >= 1000 else f"{size} B"


def run(options: Namespace, machine: Machine) -> None:
    found = rooms(machine)
    total = sum(room.size for room in found)
    cap = machine.settings().prune_cap_mb * MB or None
    if options.json:
        listed = [msgspec.structs.asdict(room) for room in found]
        output.show_json({"bytes": total, "cap_bytes": cap, "rooms": listed})
        return
    if not found:
        output.line(f"Nothing is stored in {output.place(machine.home)}.")
        return
    output.show(
        table_of(
            found,
            (Column("Size", "right"), lambda room: size_text(room.size)),
            (Column("Files", "right", dispensable=2), lambda room: output.number(room.files)),
            (Column("Kind"), lambda room: room.kind),
            (Column("Project", flexible=True), _project),
        )
    )
    output.line()
    output.line(
        f"{size_text(total)} in {output.place(machine.home)}{f' of at most {size_text(cap)}' if cap else ''}."
    )
    if cap and total > cap:
        may_go = bool(plan_prune(machine))
        output.line(
            f"This exceeds prune_cap_mb: {'holdfast prune shows what can be removed' if may_go else OVER}."
        )


def _project(room: Room) -> str:
    gone = " (its folder is gone)" if room.root and not os.path.isdir(room.root) else ""
    return f"{output.place(room.root) or room.project}{gone}" if room.project else "all projects"
