"""`holdfast forget`: shows what would be removed, asks, and lists remaining copies."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from holdfast.core.session_id import short_session
from holdfast.flows import forget as app
from holdfast.ledger.rows import session_titles
from holdfast.memory.read import ProjectMemory
from holdfast.model.statement import text_of
from holdfast.store.project import Project
from holdfast.sync.health import copies_elsewhere
from holdfast.terminal import output
from holdfast.terminal.consent import agreed
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.output import Column, Table, place

DESCRIPTION = """Removes sessions, facts or words from all of this project's memory: files, versions, databases,
backups. Later imports do not bring them back. Git history and the agents' own transcripts stay as they are; the
command lists those that still contain it."""
EXAMPLES = """examples:
  holdfast forget --session 847ff7d2            one session; a tombstone stays in ledger and log
  holdfast forget --fact F-k3f9ab               a fact, or a decision D-…, question Q-…, finding N-…, to-do T-…
  holdfast forget --text "Project Zanzibar"     these words, wherever they are, in any case
  holdfast forget --text Zanzibar --dry-run     only show what would be removed
"""


_SOME: dict[str, Any] = {"action": "extend", "nargs": "+", "default": []}
OPTIONS = (
    option("--session", **_SOME, metavar="ID", help="sessions, by id or a prefix of it"),
    option("--fact", **_SOME, metavar="ID", help="anything with an id: F-, D-, Q-, N-, X-, T-, L-…"),
    option(
        "--text",
        **_SOME,
        metavar="TEXT",
        help="consecutive words, ignoring case and spacing (4 characters or more)",
    ),
    flag("--dry-run", "only show what would be removed"),
    flag("--yes", "do not ask"),
    flag("--json", "what was removed, and where it still is, as JSON"),
)


def run(options: Namespace, machine: Machine) -> int:
    project = machine.project()
    wanted = app.resolve(project, options.session, options.fact, options.text)
    if not options.json and (options.dry_run or not options.yes):
        _show_meant(project, wanted)
    if options.dry_run:
        report = app.preview(machine, project, wanted)
    else:
        if not options.yes:
            if not options.json:
                _show_removed(app.preview(machine, project, wanted), "Would remove")
            if not agreed("Forget this? It cannot be undone."):
                output.line("Nothing was changed.")
                return 1
        report = app.forget(machine, project, wanted)
    report = replace(report, beyond=(*report.beyond, *copies_elsewhere(project)))
    output.answer(
        options, _as_json(report, dry_run=options.dry_run), lambda: _show(report, dry_run=options.dry_run)
    )
    return 0


def _show_meant(project: Project, wanted: app.Wanted) -> None:
    """What the ids stand for: a person is to see the words, and not only the files that hold them."""
    titles = session_titles(project, wanted.sessions)
    for session in wanted.sessions:
        title = f" “{titles[session]}”" if titles.get(session) else ""
        output.line(f"session {short_session(session)}{title}", under=2)
    if wanted.ids:
        memory = ProjectMemory(project)
        register = memory.register("decision", "fact", "answer", "finding", "dead_end")
        known = {said.id: text_of(said) for said in (*memory.passage_statements(), *register)}
        for id in wanted.ids:
            output.line(f"{id}  {output.flat(known.get(id, ''))}".rstrip(), under=2)


def _show(report: app.ForgetReport, *, dry_run: bool) -> None:
    _show_removed(report, "Would remove" if dry_run else "Removed")
    _show_remaining_copies(report)
    if not dry_run:
        wanted = report.wanted
        texts = [output.plural(len(wanted.texts), "text")] if wanted.texts else []
        output.line(f"Will not be imported again: {', '.join([*wanted.sessions, *wanted.ids, *texts])}.")


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
        output.line(f"{title}: not found in any file of this project's memory.")
        return
    columns = [Column(title, flexible=True), Column("Mentions", align="right")]
    output.show(Table(columns, [[path, str(count)] for path, count in sorted(report.removed.items())]))


def _show_remaining_copies(report: app.ForgetReport) -> None:
    if report.to_commit:
        shared = sorted(path for path in report.removed if path.startswith(".holdfast/"))
        output.line(f"Shared files have changed: commit {', '.join(shared)}.")
    for copy in report.git:
        commits = ", ".join(copy.commits[:8]) + (" …" if len(copy.commits) > 8 else "")
        output.line(
            f"Git history still contains it: {copy.path} in {commits}. Rewriting history is your decision."
        )
    for copy in report.elsewhere:
        output.line(f"Not changed, but contains it: {place(copy.path)} ({copy.what})")
    output.line(f"Not checked; look there yourself: {'; '.join(report.beyond)}.")
