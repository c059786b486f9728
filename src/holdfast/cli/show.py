"""`holdfast show`: a recorded session as a person reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, dropwhile

import msgspec

from holdfast.briefing.explain import injections
from holdfast.cli import output
from holdfast.cli.ledger_views import day
from holdfast.cli.options import Machine, Namespace, flag, option
from holdfast.cli.output import dollars, short_duration, short_model
from holdfast.cli.pager import page_through, width
from holdfast.core.errors import NotFound, UsageError
from holdfast.core.session_id import short_session
from holdfast.guard.hidden_text import visible
from holdfast.sessions.lookup import title_of_record
from holdfast.store.gate import gate
from holdfast.store.project import Project
from holdfast.transcripts.as_text import TextPage
from holdfast.transcripts.find import Recorded, events_of, find_session, kept_keys
from holdfast.transcripts.story import Prompt, Scene, Teller, Told, remembered

DESCRIPTION = """Shows a recorded session: what was asked and answered, each tool call in a line with its result, edits
as diffs, failures marked, time and cost, and what memory told it. SESSION is an id, the beginning of one, `last`, or a
commit that a session made. Secrets are redacted in every form."""
EXAMPLES = """examples:
  holdfast show last                      the newest session, in a pager
  holdfast show 847ff7d2 --at 3           from its third prompt on
  holdfast show 1a2b3c4                   the session that made this commit
  holdfast show last --html > talk.html   one file to share
  holdfast show --pr                      this branch's decisions and checks, for a pull request
"""
OPTIONS = (
    option("session", nargs="?", metavar="SESSION", help="a session, or a commit (default: last)"),
    option("--at", metavar="PROMPT", help="start at this prompt: its number, or words of it"),
    flag("--markdown", "as markdown", group="form"),
    flag("--html", "as one HTML file without scripts, to share", group="form"),
    flag("--json", "the scenes as JSON", group="form"),
    flag("--pr", "text for a pull request of this branch: decisions, rejected ways, checks", group="form"),
    flag("--no-pager", "print at once"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.pr:
        return _show_pull_request(options, machine, project)
    found = find_session(project, options.session or "last")
    scenes = _from(scenes_of(machine, project, found), options.at)
    if options.json:
        return output.show_json({**_about(found), "scenes": msgspec.to_builtins(list(scenes))})
    heading = _heading(found, kept_keys(project) if found.missing else set())
    if options.markdown:
        from holdfast.transcripts.as_markdown import markdown

        return page_through(markdown(heading, scenes), paged=False)
    if options.html:
        from holdfast.transcripts.as_html import html

        return page_through(html(heading, scenes), paged=False)
    page = TextPage(width(), colour=output.on_terminal() and not os.environ.get("NO_COLOR"))
    lines = chain(map(visible, heading), page.lines(scenes))
    page_through(lines, paged=not options.no_pager)


def _show_pull_request(options: Namespace, machine: Machine, project: Project) -> None:
    if options.session or options.at:
        raise UsageError("--pr is about this branch", fix="Leave out the session: holdfast show --pr")
    from holdfast.transcripts.pull_request import pull_request_text  # a session on screen does not need it

    output.write(pull_request_text(project, gate(machine, project)))


def scenes_of(machine: Machine, project: Project, found: Recorded) -> Iterator[Scene]:
    """The session as its transcripts have it, or as memory keeps it where they are gone."""
    kept = kept_keys(project) if found.missing else set()
    if (
        found.record is not None
        and kept.isdisjoint(found.missing)
        and len(found.missing) == len(found.sources)
    ):
        return remembered(found.record)
    told = [
        Told(_seconds(entry.time), tuple(line.text for line in entry.lines), entry.tokens)
        for entry in injections(project)
        if entry.session == found.session and entry.lines
    ]
    return Teller(gate(machine, project), told).scenes(events_of(project, found))


def _seconds(time: str) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return None


def _from(scenes: Iterator[Scene], wanted: str | None) -> Iterator[Scene]:
    if wanted is None:
        return scenes

    def is_before(scene: Scene) -> bool:
        if not isinstance(scene, Prompt):
            return True
        return (
            scene.number != int(wanted)
            if wanted.isdecimal()
            else wanted.casefold() not in scene.text.casefold()
        )

    rest = dropwhile(is_before, scenes)
    first = next(rest, None)
    if first is None:
        raise NotFound(f"no prompt {wanted!r} in this session", fix="Give its number, or words of it")
    return chain((first,), rest)


def _about(found: Recorded) -> dict[str, object]:
    row, record = found.row, found.record
    return {
        "session": found.session,
        "title": title_of_record(record) if record else None,
        "agent": row.agent if row else record.agent if record else None,
        "model": row.model if row else None,
        "outcome": row.outcome if row else record.outcome if record else None,
        "kind": row.kind if row else record.kind if record else None,
        "cost_usd": float(row.cost_usd) if row and row.cost_usd is not None else None,
        "commit": found.commit or None,
        "missing": [output.place(key) for key in found.missing],
    }


def _heading(found: Recorded, kept: set[str]) -> list[str]:
    row, record = found.row, found.record
    title = title_of_record(record) if record else " ".join(row.goal) if row else ""
    lines = [title] if title else []
    if row:
        facts = (
            short_session(found.session),
            row.agent or "",
            short_model(row.model),
            day(row.timestamp),
            short_duration(row.duration_s),
            dollars(row.cost_usd),
            ", ".join(filter(None, (row.kind, row.outcome))),
        )
        lines.append(" · ".join(fact for fact in facts if fact and fact != "?"))
    if record and record.outcome_why:
        lines.append(f"{record.outcome}: {output.flat(record.outcome_why)}")
    if found.missing and not kept.isdisjoint(found.missing):
        lines.append("The agent's transcript is gone; this is the copy that was kept.")
    elif found.missing or not found.sources:
        lines.append("The transcript is gone; this is what memory kept of it.")
    return lines
