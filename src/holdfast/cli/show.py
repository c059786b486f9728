"""`holdfast show`: a recorded session as a person reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, dropwhile

import msgspec

from holdfast.core.errors import NotFound, UsageError
from holdfast.guard.hidden_text import visible
from holdfast.sessions.lookup import title_of_record
from holdfast.store.gate import gate
from holdfast.store.project import Project
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, option
from holdfast.terminal.pager import page_through, width
from holdfast.transcripts.as_text import TextPage
from holdfast.transcripts.find import Recorded, find_session
from holdfast.transcripts.scenes import heading, scenes_of
from holdfast.transcripts.story import Prompt, Scene

DESCRIPTION = """Shows a recorded session: prompts and answers, each tool call with its result, edits as diffs,
failures, time, cost, and what memory showed it. SESSION is an id, `last`, or a commit that a session made. Secrets
are redacted."""
EXAMPLES = """examples:
  holdfast show last                      the newest session
  holdfast show 847ff7d2 --at 3           from its third prompt
  holdfast show 1a2b3c4                   the session that made this commit
  holdfast show last --html > talk.html   one file to share
  holdfast show --pr                      this branch's decisions and checks, for a pull request
"""
OPTIONS = (
    option("session", nargs="?", metavar="SESSION", help="a session, or a commit (default: last)"),
    option("--at", metavar="PROMPT", help="start at this prompt (number, or words from it)"),
    flag("--markdown", "as markdown", group="form"),
    flag("--html", "as one HTML file without scripts, to share", group="form"),
    flag("--json", "the scenes as JSON", group="form"),
    flag(
        "--pr", "text for this branch's pull request: decisions, rejected alternatives, checks", group="form"
    ),
    flag("--no-pager", "do not use a pager"),
)


def run(options: Namespace, machine: Machine) -> None:
    project = machine.project()
    if options.pr:
        return _show_pull_request(options, machine, project)
    found = find_session(project, options.session or "last")
    scenes = _from(scenes_of(machine, project, found), options.at)
    if options.json:
        return output.show_json({**_about(found), "scenes": msgspec.to_builtins(list(scenes))})
    lines = heading(project, found)
    if options.markdown:
        from holdfast.transcripts.as_markdown import markdown

        return page_through(markdown(lines, scenes), paged=False)
    if options.html:
        from holdfast.transcripts.as_html import html

        return page_through(html(lines, scenes), paged=False)
    page = TextPage(width(), colour=output.on_terminal() and not os.environ.get("NO_COLOR"))
    page_through(chain(map(visible, lines), page.lines(scenes)), paged=not options.no_pager)


def _show_pull_request(options: Namespace, machine: Machine, project: Project) -> None:
    if options.session or options.at:
        raise UsageError("--pr works on the current branch", fix="Remove SESSION: holdfast show --pr")
    from holdfast.transcripts.pull_request import pull_request_text  # a session on screen does not need it

    output.write(pull_request_text(project, gate(machine, project)))


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
        raise NotFound(f"no prompt {wanted!r} in this session", fix="Give its number, or words from it")
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
