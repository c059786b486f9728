"""`holdfast`: where this project stands, in a few lines."""

from __future__ import annotations

from holdfast.core import files
from holdfast.core.session_id import short_session
from holdfast.flows.decision_sharing import to_trust
from holdfast.flows.status import Status, status_of
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag
from holdfast.terminal.output import dollars, place, plural, short_model
from holdfast.views.conflicts import conflicts_here
from holdfast.views.ledger import as_json, day

MOST_SHOWN = 3
LONGEST = 110
EXAMPLES = """examples:
  holdfast
  holdfast status --json
"""

OPTIONS = (flag("--json", "the status as JSON"),)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    output.warn_all(machine.settings(project).warnings)
    status = status_of(machine, project)
    conflicts = len(conflicts_here(project))
    untrusted = len(to_trust(machine, project))
    if options.json:
        return output.show_json(
            {
                "project": status.project,
                "root": status.root,
                "ledger": status.ledger,
                "shared": status.shared,
                "sessions": status.sessions,
                "last": {**as_json(status.last), "title": status.title or None} if status.last else None,
                "open_items": list(status.open_items),
                "next": list(status.next),
                "todo": status.todo,
                "questions": status.questions,
                "conflicts": conflicts,
                "to_trust": untrusted,
                "waiting": status.waiting,
                "problems": status.problems,
                "candidates": status.candidates,
                "silent": status.silent,
                "uncaptured": status.uncaptured,
                "leaving": list(status.leaving),
            }
        )
    _show(status, conflicts, untrusted)
    if status.leaving:
        _offer_copies(machine, status.leaving)


def _offer_copies(machine: Machine, leaving: tuple[str, ...]) -> None:
    """Says once that transcripts are about to go, and how to keep them."""
    mark = machine.home / "copies-offered"
    if mark.exists() or not output.on_terminal():
        return
    which = f"“{output.cut(leaving[0], 60)}”{f' and {len(leaving) - 1} more' if len(leaving) > 1 else ''}"
    output.lines(
        "",
        f"  Claude Code deletes transcripts after 30 days; next to be deleted: {which}.",
        f"  To keep redacted copies, set keep_transcripts = true in {place(machine.home / 'config.toml')}.",
    )
    files.append(mark, b"offered\n", machine.home / "locks" / "copies-offered")


def _show(status: Status, conflicts: int, untrusted: int) -> None:
    output.heading(f"{status.project}: {plural(status.sessions, 'session')} in the ledger")
    if last := status.last:
        output.lines(
            f"  last     {short_session(last.session)}  {day(last.timestamp)}  {last.agent or '?'}, "
            f"{short_model(last.model)}, {dollars(last.cost_usd)}: {last.outcome or '?'}",
            f"           {output.cut(status.title or ' '.join(last.goal), LONGEST)}",
        )
    for number, step in enumerate(status.next[:MOST_SHOWN]):
        output.line(f"  {'next' if not number else '':<8} {output.cut(step, LONGEST)}")
    counts = [
        f"{plural(count, item)}: holdfast {command}"
        for count, item, command in (
            (status.todo, "to-do", "todo"),
            (status.questions, "open question", "questions"),
        )
        if count
    ]
    lessons = plural(status.candidates, "proposed lesson")
    transcripts = f"{plural(status.waiting, 'transcript')} to read"
    how = "import" if status.sessions else "init (import only reads them)"
    whose = "shared in git" if status.shared else "private"
    for wanted, line in (
        (counts, f"  open     {', '.join(counts)}"),
        (conflicts, f"  sync     {plural(conflicts, 'conflict')} to resolve: holdfast sync --conflicts"),
        (
            untrusted,
            f"  shared   {plural(untrusted, 'decision')} of colleagues, not told to agents yet: holdfast trust",
        ),
        (status.candidates, f"  lessons  {lessons}: holdfast lessons review"),
        (status.sessions or status.shared, f"  ledger   {place(status.ledger)} ({whose})"),
        (status.waiting, f"  new      {transcripts}: holdfast {how}"),
        (status.problems, f"  broken   {status.problems} ledger rows: holdfast doctor"),
        (status.sessions and status.silent, f"  hooks    silent here: {place(status.silent)}"),
        (status.uncaptured, f"  hooks    sessions here are not recorded: {status.uncaptured}"),
        (
            not status.sessions and not status.waiting,
            "  No agent has recorded a session here yet. holdfast demo shows what you would get.",
        ),
    ):
        if wanted:
            output.line(line)
