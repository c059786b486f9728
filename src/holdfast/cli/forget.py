"""`holdfast forget`: shows what would be removed, asks, and lists remaining copies."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from holdfast.flows import forget as app
from holdfast.sync.health import copies_elsewhere
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import Column, Table, place

DESCRIPTION = """Removes sessions, facts or words from every file of this project's memory: ledger, log, archive,
facts, questions, lessons, state, versions, and what was captured. It does not come back with a later import.
Git's history and the agents' own transcripts are not changed: it says what they still hold."""
EXAMPLES = """examples:
  holdfast forget --session 847ff7d2            all of one session; a tombstone stays in ledger and log
  holdfast forget --fact F-k3f9ab               a fact, or a decision D-…, question Q-…, finding N-…, to-do T-…
  holdfast forget --text "Project Zanzibar"     these words, wherever they stand, in any case
  holdfast forget --text Zanzibar --dry-run     only show what would go
"""


_SOME: dict[str, Any] = {"action": "extend", "nargs": "+", "default": []}
OPTIONS = (
    option("--session", **_SOME, metavar="ID", help="sessions, by id or the beginning of it"),
    option(
        "--fact", **_SOME, metavar="ID", help="anything with an id of its own: F-, D-, Q-, N-, X-, T-, L-…"
    ),
    option(
        "--text",
        **_SOME,
        metavar="TEXT",
        help="words in a row, whatever their case and the blanks between them (4 characters or more)",
    ),
    flag("--dry-run", "only show what would go"),
    flag("--yes", "do not ask"),
    flag("--json", "what was removed, and where it still is, as JSON"),
)


def run(options: Namespace, machine: Machine) -> int:
    project = machine.project()
    wanted = app.resolve(project, options.session, options.fact, options.text)
    if options.dry_run:
        report = app.preview(machine, project, wanted)
    else:
        if not options.yes:
            if not options.json:
                _show_removed(app.preview(machine, project, wanted), "Would be removed")
            if not agreed("Forget this? It cannot be undone."):
                output.line("Nothing was changed.")
                return 1
        report = app.forget(machine, project, wanted)
    report = replace(report, beyond=(*report.beyond, *copies_elsewhere(project)))
    output.answer(
        options, _as_json(report, dry_run=options.dry_run), lambda: _show(report, dry_run=options.dry_run)
    )
    return 0


def _show(report: app.ForgetReport, *, dry_run: bool) -> None:
    _show_removed(report, "Would be removed" if dry_run else "Removed")
    _show_remaining_copies(report)
    if not dry_run:
        wanted = report.wanted
        texts = [output.plural(len(wanted.texts), "text")] if wanted.texts else []
        output.line(f"Kept from coming back: {', '.join([*wanted.sessions, *wanted.ids, *texts])}.")


def _as_json(report: app.ForgetReport, *, dry_run: bool) -> dict[str, Any]:
    wanted = report.wanted
    return {
        "removed": report.removed,
        "sessions": list(wanted.sessions),
        "git": [{"path": copy.path, "commits": list(copy.commits)} for copy in report.git],
        "elsewhere": [{"path": copy.path, "what": copy.what} for copy in report.elsewhere],
        "beyond": list(report.beyond),
        "denied": {"sessions": list(wanted.sessions), "ids": list(wanted.ids), "texts": len(wanted.texts)},
        "commit": report.to_commit,
        "dry_run": dry_run,
    }


def _show_removed(report: app.ForgetReport, title: str) -> None:
    if not report.removed:
        output.line(f"{title}: nothing, no file of this project's memory holds it.")
        return
    columns = [Column(title, flexible=True), Column("places", align="right")]
    output.show(Table(columns, [[path, str(count)] for path, count in sorted(report.removed.items())]))


def _show_remaining_copies(report: app.ForgetReport) -> None:
    if report.to_commit:
        shared = sorted(path for path in report.removed if path.startswith(".holdfast/"))
        output.line(f"What is shared changes: commit {', '.join(shared)}.")
    for copy in report.git:
        commits = ", ".join(copy.commits[:8]) + (" …" if len(copy.commits) > 8 else "")
        output.line(
            f"Git's history still holds it: {copy.path} in {commits}. Rewriting history is yours to decide."
        )
    for copy in report.elsewhere:
        output.line(f"Not changed, and it is there: {place(copy.path)} ({copy.what})")
    output.line(f"Out of reach, look there yourself: {'; '.join(report.beyond)}.")
