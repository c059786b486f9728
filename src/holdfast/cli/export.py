"""`holdfast export`: everything of this project's memory as one archive."""

from __future__ import annotations

from holdfast import __version__
from holdfast.core.errors import UsageError
from holdfast.flows.portability import export
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option

DESCRIPTION = """Writes this project's memory into one archive (.tar.gz), readable only by you: ledger, state, log,
facts, questions, versions and records. holdfast restore reads it back in, here or on another machine. Keep it as
private as the memory itself."""
EXAMPLES = """examples:
  holdfast export                    holdfast-<project>-<day>.tar.gz in ~/.holdfast/exports
  holdfast export ~/backups          the same name in another folder
  holdfast export shop.tar.gz --force
  holdfast export --agents-md        commands, rules and decisions, into AGENTS.md or CLAUDE.md
"""


OPTIONS = (
    flag(
        "--agents-md",
        "instead, write a short section into AGENTS.md (or CLAUDE.md or GEMINI.md, if only that is there); "
        "shows a diff and asks",
    ),
    flag("--yes", "with --agents-md: do not ask"),
    option(
        "file",
        nargs="?",
        metavar="FILE",
        help="where to write it (default: ~/.holdfast/exports/holdfast-<project>-<day>.tar.gz, then …-2.tar.gz)",
    ),
    flag("--force", "overwrite an existing file"),
    flag("--dry-run", "show what would be written"),
    flag("--json", "what was written as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    if options.agents_md:
        from holdfast.cli.export_agents_md import run_section

        return run_section(options, machine)
    if options.yes:
        raise UsageError("--yes needs --agents-md: exporting an archive asks nothing", fix="holdfast export")
    done = export(
        machine, machine.project(), options.file, __version__, force=options.force, dry_run=options.dry_run
    )
    for name, reason in done.left_out:
        output.warn(f"{name} is not included: {reason}.")
    if options.json:
        left_out = {"left_out": [{"path": name, "reason": reason} for name, reason in done.left_out]}
        fields = ("path", "title", "files", "bytes", "size", "done")
        return output.show_json({**{field: getattr(done, field) for field in fields}, **left_out})
    what = f"{output.plural(done.files, 'file')} of {done.title}'s memory, {amount(done.bytes)}"
    if done.size is None:
        output.line(f"Would write {what}, to {output.place(done.path)}.")
    else:
        output.lines(
            f"{output.place(done.path)}: {what}, compressed to {amount(done.size)}.",
            "holdfast restore FILE reads it back in, here or on another machine.",
        )


def amount(size: int) -> str:
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
