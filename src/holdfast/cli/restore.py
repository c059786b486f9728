"""`holdfast restore`: takes in an archive of `holdfast export`, all of it or nothing."""

from __future__ import annotations

import msgspec

from holdfast import __version__
from holdfast.cli.export import amount
from holdfast.cli.trust import show_received
from holdfast.flows.hosts import hooked
from holdfast.flows.portability import Mode, Restored, restore
from holdfast.terminal import output
from holdfast.terminal.consent import agreed, require_person
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.upkeep.archives import Received, keep_apart, needs_trust, restore_trusted

DESCRIPTION = """Reads an archive made by holdfast export. It is checked completely before anything is written, and an
interruption leaves either the old memory or the new one. If this project has a memory, choose --merge or --replace.
An archive from another machine (or from holdfast 0.1) stays separate, and agents see nothing of it, until you trust
it with --trust or holdfast trust."""
EXAMPLES = """examples:
  holdfast restore holdfast-shop-2026-11-15.tar.gz            into a project without memory
  holdfast restore holdfast-shop-2026-11-15.tar.gz --merge    add what is missing, keep everything here
  holdfast restore holdfast-shop-2026-11-15.tar.gz --replace  replace what is here, after a backup
  holdfast restore holdfast-shop-2026-11-15.tar.gz --trust    on another machine: read it, and agree
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
    option("file", metavar="FILE", help="an archive made by holdfast export"),
    flag("--merge", "add what is missing; keep everything that is here", group="how"),
    flag("--replace", "replace what is here, after a backup", group="how"),
    flag("--trust", "from another machine: show what agents would see, ask, and read it in"),
    flag("--yes", "with --trust: do not ask"),
    flag("--dry-run", "check the archive and show what would be done"),
    flag("--json", "what was done as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    mode: Mode = "merge" if options.merge else "replace" if options.replace else "new"
    project = machine.project()
    if needs_trust(machine, project, options.file) and not (options.trust and options.dry_run):
        if options.dry_run:
            return _show_foreign(options, None)
        received = keep_apart(machine, project, options.file)
        if not options.trust:
            return _show_foreign(options, received)
        require_person(machine)
        if not options.json:
            show_received(received)
        if not options.yes and not agreed("Trust this archive and import it?", "Add --yes to agree"):
            return _show_foreign(options, received)
        done = restore_trusted(machine, project, options.file, __version__, mode)
    else:
        has_memory = mode == "new" and options.dry_run and project.memory.is_dir()
        look: Mode = "merge" if has_memory else mode
        done = restore(machine, project, options.file, __version__, look, dry_run=options.dry_run)
        if has_memory and not options.json:
            output.line(f"This project already has a memory. The archive holds {_what(done)}.")
            output.line("--merge adds what is missing here; --replace puts it in the place of what is here.")
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
        if not options.dry_run and not hooked(machine, project):
            output.line("No agent is connected here: holdfast init connects those on this machine.")


def _show_foreign(options: Namespace, received: Received | None) -> None:
    """An archive of another machine that is not trusted: kept apart, or with --dry-run only looked at."""
    if options.json:
        found = received.as_json() if received is not None else None
        output.show_json({"done": False, "origin": "other_archive", "waiting": found})
    elif received is None:
        output.line("It was made on another machine. It would stay separate until you trust it.")
    else:
        kept = "Kept separate" if received.is_new else "It is already waiting for your review"
        output.line(f"{kept}: this archive is from another machine, so agents see nothing of it.")
        output.line("Search finds its contents, marked as not trusted.")
        output.line(f"holdfast trust {received.archive.id} shows what agents would see, and reads it in.")


def _what(done: Restored) -> str:
    files = f"{output.plural(done.files, 'file')}, {amount(done.bytes)}"
    return f"{done.title}'s memory as of {done.made[:10]} ({files}, from holdfast {done.version})"


def _show_merge(done: Restored, *, dry_run: bool) -> None:
    counts = [(getattr(done.added, kind), name) for kind, name in _KINDS.items()]
    parts = [output.plural(count, name).replace("entrys", "entries") for count, name in counts if count]
    if not parts:
        return output.line(f"Everything in {_what(done)} is already here.")
    output.line(f"{'Would add' if dry_run else 'Added'} from {_what(done)}: {', '.join(parts)}.")
    if not dry_run:
        output.line("What was here is unchanged.")
