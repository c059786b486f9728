"""`holdfast log`: what each session did, decided, found and left open."""

from __future__ import annotations

import msgspec

from holdfast.briefing.history import entry_of, logged
from holdfast.core.patterns import lazy_regex
from holdfast.ledger.rows import session_titles
from holdfast.memory.log import render_entry
from holdfast.model.memory import LogEntry
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, limit, moment_from, option, since

DESCRIPTION = """Shows this project's log, newest last, including archived sessions. The file is
.holdfast/local/projects/<name>/log.md; holdfast only ever adds to it."""
EXAMPLES = """examples:
  holdfast log                    the last five sessions
  holdfast log -n 0               all of them
  holdfast log 847ff7d2           one session
  holdfast log --grep rate.py     sessions that mention it, also those in the archive
  holdfast log --decisions        what was decided, why and by whom"""
_COMMENT = lazy_regex(r" ?<!-- .*? -->")
_BOLD = lazy_regex(r"\*\*(.+?)\*\*")


OPTIONS = (
    option("session", nargs="?", metavar="SESSION", help="a session's id, or a prefix of it"),
    *limit("sessions, the newest", "default: 5", default=5),
    since("sessions"),
    option("--agent", metavar="AGENT", help="only this agent's sessions, e.g. claude-code"),
    option("--branch", metavar="NAME", help="only sessions on this branch"),
    option("--project", default="", metavar="NAME", help="default: the one of this branch"),
    option("--grep", metavar="TEXT", help="only sessions whose entry contains this text"),
    flag("--decisions", "only sessions with decisions"),
    flag("--json", "the entries as JSON"),
)


def run(options: Namespace, machine: Machine) -> None:
    entries, problems = logged(machine, machine.project(), options.project)
    output.warn_all(problem.message for problem in problems)
    start = moment_from(options.since)
    if options.session:
        entries = [entry_of(entries, options.session)]
    else:
        entries = [
            entry
            for entry in entries
            if options.branch in (None, entry.branch)
            and options.agent in (None, entry.agent)
            and (start is None or (entry.at or 0.0) >= start.timestamp())
            and (not options.decisions or entry.decisions)
            and (not options.grep or options.grep.casefold() in render_entry(entry).casefold())
        ]
        entries = entries[-options.limit :]
    titles = session_titles(machine.project(), [entry.session for entry in entries])
    if options.json:
        return output.show_json([{**as_json(entry), "title": titles.get(entry.session)} for entry in entries])
    for entry in entries:
        show_entry(render_entry(entry), titles.get(entry.session, ""))
    if not entries:
        chosen = options.branch or options.agent or options.since or options.grep or options.decisions
        output.note(
            "No session matches. holdfast log -n 0 shows all."
            if chosen
            else "The log is empty. holdfast import reads what agents recorded."
        )


def as_json(entry: LogEntry) -> dict[str, object]:
    """Every item with its id."""
    value: dict[str, object] = msgspec.to_builtins(entry)
    for name in ("decisions", "findings", "dead_ends", "questions", "open_items"):
        value[name] = [{"id": item.id, **msgspec.to_builtins(item)} for item in getattr(entry, name)]
    return value


def show_entry(text: str, title: str = "") -> None:
    """An entry of the log, without the comments that only holdfast reads."""
    heading, *lines = text.strip("\n").split("\n")
    output.heading(heading.removeprefix("## "))
    if title:
        output.heading(title)
    for line in lines:
        plain = _BOLD.sub(r"\1", _COMMENT.sub("", line)) if output.on_terminal() else _COMMENT.sub("", line)
        if plain.strip():
            output.line(plain)
    output.line()
