"""`holdfast import`: imports transcripts, with progress and a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.core.errors import UsageError
from holdfast.core.patterns import save_programs
from holdfast.flows.import_all import import_everything
from holdfast.flows.import_sessions import ImportReport, Progress, import_into, import_kept
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import counted, place
from holdfast.terminal.progress import progress_bar

DESCRIPTION = """Reads the sessions that agents recorded and writes one ledger row for each. Without PATH, finds this
project's sessions in the agents' own folders; with PATH, reads those files and folders, wherever they were recorded.
Importing again reads only what is new."""
EXAMPLES = """examples:
  holdfast import                               this project's sessions, of every agent
  holdfast import --agent codex                 only Codex's
  holdfast import ~/.claude/projects/-my-repo   a folder or a file by name
  holdfast import --memories                    what CLAUDE.md, AGENTS.md, agents' notes, basic-memory say
  holdfast import --all                         every project's sessions, each into its own ledger
"""
MOST_WARNINGS = 20


OPTIONS = (
    option("paths", nargs="*", type=Path, metavar="PATH", help="transcripts or folders"),
    option("--agent", help="only this agent's transcripts, e.g. claude-code or codex"),
    flag("--all", "the sessions of every project on this machine"),
    flag("--from-kept", "rebuild everything from kept transcripts"),
    flag(
        "--memories",
        "import agents' own notes, rules files, basic-memory and claude-mem; shows them first, and asks",
    ),
    flag("--yes", "with --memories: do not ask, import everything"),
    flag("--json", "the report as JSON"),
    option("-q", "--quiet", action="store_true", help="no progress bar"),
)


def run(options: Namespace, machine: Machine) -> None:
    if options.memories:
        from holdfast.cli import import_memories

        if options.all or options.paths or options.agent or options.from_kept:
            raise UsageError("--memories cannot be used with other options", fix="holdfast import --memories")
        return import_memories.run_memories(options, machine)
    if options.yes:
        raise UsageError("--yes needs --memories: importing sessions asks nothing", fix="holdfast import")
    if options.all and options.paths:
        raise UsageError("--all takes no PATH", fix="Use either PATH or --all")
    if options.from_kept and (options.all or options.paths or options.agent):
        raise UsageError("--from-kept cannot be used with other options", fix="holdfast import --from-kept")
    project = machine.project()
    with import_progress(show=not (options.quiet or options.json)) as progress:
        if options.all:
            everything = import_everything(machine, options.agent, progress)
            report = everything.total()
        elif options.from_kept:
            everything = None
            report = import_kept(machine, project, progress)
        else:
            everything = None
            report = import_into(machine, project, options.paths, options.agent, progress)
    if report.added:
        save_programs()
    if options.json:
        extra: dict[str, Any] = {} if everything is None else everything.details()
        return output.show_json({**report_as_json(report), **extra})
    _show(report)
    if everything is not None:
        for root, part in everything.projects.items():
            output.line(f"  {place(root)}: {counted(part.sessions, 'session')}, {part.added} new")
        counts = ", ".join(f"{agent} {count}" for agent, count in everything.agents.items() if count)
        output.line(f"Found: {counts or 'no agent has recorded anything'}.")
        for cwd, count in everything.homeless.items():
            output.line(f"  {place(cwd)}: {count} skipped, the directory is gone")
    elif report.sessions:
        output.lines(
            f"Rows are in {place(project.window / 'ledger.md')}. See them with: holdfast ledger",
            "What the next session sees: holdfast resume",
        )
    elif not options.paths:
        output.line(
            "No agent has recorded a session here yet. holdfast agents shows what is on this machine."
        )


def report_as_json(report: ImportReport) -> dict[str, Any]:
    return {
        "sessions": report.sessions,
        "added": report.added,
        "updated": report.updated,
        "unchanged": report.unchanged,
        **({"forgotten": report.forgotten} if report.forgotten else {}),
        "skipped": report.skipped,
        "warnings": report.warnings,
        "bytes": report.bytes,
    }


def _show(report: ImportReport) -> None:
    output.line(
        f"{counted(report.sessions, 'session')}: {report.added} added, "
        f"{report.updated} updated, {report.unchanged} unchanged ({_size(report.bytes)} read)."
    )
    if report.forgotten:
        output.line(f"Skipped because you removed them with holdfast forget: {report.forgotten}.")
    output.warn_all(
        (f"{warning.path}:{warning.line}: " if warning.line else f"{warning.path}: ") + warning.message
        for warning in report.warnings[:MOST_WARNINGS]
    )
    if len(report.warnings) > MOST_WARNINGS:
        output.warn(f"and {len(report.warnings) - MOST_WARNINGS} more (holdfast import --json lists all)")
    if report.skipped:
        skipped = ", ".join(Path(path).name for path in report.skipped[:3])
        more = f" and {len(report.skipped) - 3} more" if len(report.skipped) > 3 else ""
        output.line(f"Skipped, not transcripts: {skipped}{more}.")


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


@contextmanager
def import_progress(*, show: bool) -> Iterator[Progress | None]:
    """A bar with rate and remaining time."""
    columns = ("DownloadColumn", "TransferSpeedColumn", "TimeRemainingColumn")
    with progress_bar(show=show, text="reading", columns=columns) as update:
        yield update and (lambda done, total, name: update(done, total, f"reading {name[:24]:<24}"))
