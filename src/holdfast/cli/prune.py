"""`holdfast prune`: removes old backups, leftovers, and above the cap what can be made again."""

from __future__ import annotations

import msgspec

from holdfast import __version__
from holdfast.cli.du import OVER, size_text
from holdfast.core.errors import UsageError
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import Column, table_of
from holdfast.upkeep.disk_use import MB, plan_prune, prune, rooms
from holdfast.upkeep.memories import plan_removal, remove_orphan

DESCRIPTION = """Removes leftovers of interrupted writes, and backups older than prune_backup_days. If everything
together exceeds prune_cap_mb, caches and derived files go too, starting with projects whose folder is gone.
Decisions, lessons, logs, facts, the ledger, capture.db, edits.db, copies of transcripts and usage figures are never
removed. Without --yes, only shows what would be removed."""
EXAMPLES = """examples:
  holdfast prune         show what would be removed, and why
  holdfast prune --yes   remove it"""

OPTIONS = (
    option(
        "--memory",
        metavar="ID",
        help="remove the memory of a project whose folder is gone, after a backup (holdfast doctor lists them)",
    ),
    flag("--dry-run", "show what would be removed (the default)"),
    flag("--yes", "do not ask: remove it"),
    flag("--json", "the files as JSON; removed only with --yes"),
)


def run(options: Namespace, machine: Machine) -> None:
    if options.yes and options.dry_run:
        raise UsageError("--yes and --dry-run cannot be used together", fix="Use one or the other")
    if options.memory is not None:
        return _remove_memory(options, machine)
    going = plan_prune(machine)
    size = sum(one.size for one in going)
    if options.yes:
        prune(machine, going)
    if options.json:
        listed = [msgspec.structs.asdict(one) for one in going]
        output.show_json({"done": bool(options.yes), "bytes": size, "files": listed})
        return
    if not going:
        cap = machine.settings().prune_cap_mb * MB
        over = cap and sum(room.size for room in rooms(machine)) > cap
        output.line(f"Nothing to remove{f': {OVER}' if over else ''}.")
        return
    output.show(
        table_of(
            going,
            (Column("Size", "right"), lambda one: size_text(one.size)),
            (Column("Kind"), lambda one: one.kind),
            (Column("File", flexible=True), lambda one: output.place(one.path)),
            (Column("Why", flexible=True, wrapped=True), lambda one: one.why),
        )
    )
    output.line()
    what = f"{output.counted(len(going), 'file')}, {size_text(size)}"
    output.line(f"Removed {what}." if options.yes else f"Would remove {what}: run holdfast prune --yes.")


def _remove_memory(options: Namespace, machine: Machine) -> None:
    memory = plan_removal(machine, options.memory)
    removed = remove_orphan(machine, memory, __version__) if options.yes else None
    backup = removed.backup if removed is not None else None
    if options.json:
        output.show_json({"done": bool(options.yes), "memory": memory, "backup": backup})
        return
    what = f"the memory {memory.id} ({output.counted(memory.sessions, 'session')}, {size_text(memory.bytes)})"
    if not options.yes:
        output.line(f"Would remove {what}, after a backup: add --yes.")
        return
    output.line(f"Removed {what}.")
    if backup:
        output.line(f"Backup: {output.place(backup)} (holdfast restore FILE reads it back in).")
