"""`holdfast restore`: takes in an archive of `holdfast export`, all of it or nothing."""

from __future__ import annotations

import msgspec

from holdfast import __version__
from holdfast.cli import output
from holdfast.cli.export import amount
from holdfast.cli.options import Machine, Namespace, flag, option
from holdfast.flows.portability import Mode, Restored, restore

DESCRIPTION = """Takes in an archive that holdfast export wrote. The whole archive is checked before anything is
written, and whatever happens meanwhile, afterwards the memory is the old one or the new one.
Where this project has a memory already, say --merge or --replace."""
EXAMPLES = """examples:
  holdfast restore holdfast-shop-2026-11-15.tar.gz            into a project without memory
  holdfast restore holdfast-shop-2026-11-15.tar.gz --merge    add what is missing, keep all that is here
  holdfast restore holdfast-shop-2026-11-15.tar.gz --replace  instead of what is here, which is backed up first
"""
_KINDS = {
    "rows": "ledger row",
    "sessions": "log entry",
    "facts": "fact",
    "decisions": "decision",
    "questions": "question",
    "answers": "answer",
    "next": "next step",
    "todo": "to-do",
    "records": "session record",
    "files": "other file",
}


OPTIONS = (
    option("file", metavar="FILE", help="an archive of holdfast export"),
    flag("--merge", "add what is missing here; what is here stays", group="how"),
    flag("--replace", "take the place of what is here, after a backup of it", group="how"),
    flag("--dry-run", "check the archive, and only say what would be done"),
    flag("--json", "what was done as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    mode: Mode = "merge" if options.merge else "replace" if options.replace else "new"
    done = restore(machine, machine.project(), options.file, __version__, mode, dry_run=options.dry_run)
    problems = done.added.problems if done.added else ()
    output.warn_all(f"in the archive, {problem}" for problem in problems)
    if options.json:
        output.show_json(msgspec.to_builtins(done))
    elif done.added is not None:
        _show_merge(done, dry_run=options.dry_run)
    else:
        word = "Would restore" if options.dry_run else "Restored"
        output.line(f"{word} {_what(done)}.")
        if done.backup:
            output.line(f"What was here before: {output.place(done.backup)}")


def _what(done: Restored) -> str:
    files = f"{output.plural(done.files, 'file')}, {amount(done.bytes)}"
    return f"{done.title}'s memory as of {done.made[:10]} ({files}, from holdfast {done.version})"


def _show_merge(done: Restored, *, dry_run: bool) -> None:
    counts = [(getattr(done.added, kind), name) for kind, name in _KINDS.items()]
    parts = [output.plural(count, name).replace("entrys", "entries") for count, name in counts if count]
    if not parts:
        return output.line(f"Everything of {_what(done)} is here already.")
    output.line(f"{'Would add' if dry_run else 'Added'} from {_what(done)}: {', '.join(parts)}.")
    if not dry_run:
        output.line("What was here is unchanged.")
