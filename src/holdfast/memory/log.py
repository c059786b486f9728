"""The format of log.md: one entry of about ten lines per session.

An entry starts with its heading and ends with a comment with the full session id. An entry without an end was torn
by a crash: it is reported and left unchanged. Between entries there may be a person's text, and lines
`<!-- session ID · forgotten -->`, one per forgotten session: its other entries do not count, and it is not logged
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.language.harvest_sentences import PLAN_TO_DO, plan_title
from holdfast.language.prose import plain, prose_of, sentences, without_escapes
from holdfast.model.events import DistilledSession
from holdfast.model.memory import LogEntry, OpenItem
from holdfast.sessions.summary import cut, summary_line
from holdfast.store import line_grammar as md
from holdfast.store.line_grammar import Form, Problem

_HEADING = lazy_regex(r"## (?:\d{4}-\d\d-\d\d \d\d:\d\d|undated) · ")
_LABEL = lazy_regex(r"- \*\*([A-Z][a-z ]+):\*\*(?: (.*))?")
_END = lazy_regex(r"<!-- session (.*) · at ([^ ].*) -->")
_FORGOTTEN = lazy_regex(r"<!-- session (.*) · forgotten -->")
_SHORT = 8
_SORT_OF_ID = lazy_regex(r"[a-z]{1,10}[-_]")  # a prefix of all ids of an agent, which identifies none

_TEXTS = {"Context": "context", "Outcome": "outcome", "Summary": "summary"}
_ITEMS: dict[str, tuple[str, Form[Any]]] = {
    "Decisions": ("decisions", md.DECISION),
    "Findings": ("findings", md.FINDING),
    "Dead ends": ("dead_ends", md.DEAD_END),
    "Questions": ("questions", md.QUESTION),
    "Open items": ("open_items", md.OPEN_ITEM),
}
_LISTS = {"Files": "files", "Commits": "commits"}
_LAST = {"Transcript": "transcript"}


class Block(Struct, frozen=True):
    """Lines `start` up to `stop`, counted from 0: an entry with everything up to the next one.

    The entry itself ends before the line `end`; a torn entry has no end.
    """

    start: int
    stop: int
    entry: LogEntry | None
    end: int = 0


class LogFile(Struct):
    """A parsed log, with every entry in the order of the file. `preamble` is the text above the first."""

    lines: list[str]
    blocks: list[Block] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    forgotten: set[str] = field(default_factory=set)

    @property
    def entries(self) -> list[LogEntry]:
        return [block.entry for block in self.blocks if block.entry is not None]

    def text(self, block: Block) -> str:
        return "".join(self.lines[block.start : block.stop])

    @property
    def preamble(self) -> str:
        return "".join(self.lines[: self.blocks[0].start] if self.blocks else self.lines)


def latest(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """One entry per session: the last one, in the place of the first."""
    last: dict[str, LogEntry] = {}
    for entry in entries:
        last[entry.session] = entry
    return list(last.values())


# --- writing -------------------------------------------------------------------------------------------


def render_beginning(project: str) -> str:
    return (
        f"# Log of {md.encode(project)}\n\n"
        "What each session did and why, oldest first; times are UTC. holdfast only adds to this file.\n"
    )


def render_entry(entry: LogEntry) -> str:
    """The lines of one entry, after a blank line."""
    heading = [md.render_minute(entry.at), md.encode(entry.agent), heading_name(entry.session)]
    heading += [md.encode(entry.branch)] if entry.branch else []
    lines = ["", f"## {' · '.join(_undotted(part) for part in heading)}", ""]
    lines += _labelled(_TEXTS, entry)
    inherited = {"session": entry.session, "at": entry.at}  # what items need not repeat
    for label, (name, form) in _ITEMS.items():
        items = getattr(entry, name)
        if items:
            lines += [f"- **{label}:**", *(f"  - {form.render(item, inherited)}" for item in items)]
    for label, name in _LISTS.items():
        if values := getattr(entry, name):
            lines.append(f"- **{label}:** {md.encode_list(values)}")
    lines += _labelled(_LAST, entry)
    lines.append(f"{end_prefix(entry.session)}{md.render_time(entry.at)} -->")
    return "".join(f"{line}\n" for line in lines)


def end_prefix(session: str) -> str:
    """The start of the last line of a session's entry, to search an archive without parsing it."""
    return f"<!-- session {_undotted(md.encode(session))} · at "


def forgotten_line(session: str) -> str:
    """The line that replaces the entries of a forgotten session."""
    return f"<!-- session {_undotted(md.encode(session))} · forgotten -->"


def is_forgotten_line(line: str) -> bool:
    return _FORGOTTEN.fullmatch(line.rstrip("\r\n")) is not None


def heading_name(session: str) -> str:
    """A session's name in a heading, which is all that a torn entry has."""
    sort = _SORT_OF_ID.match(session)
    return _undotted(md.encode(session[: _SHORT + (sort.end() if sort else 0)]))


def _labelled(names: dict[str, str], entry: LogEntry) -> list[str]:
    return [
        f"- **{label}:** {md.encode(value)}"
        for label, name in names.items()
        if (value := getattr(entry, name))
    ]


def _undotted(cell: str) -> str:
    return cell.replace("·", "\\u00b7")


# --- reading -------------------------------------------------------------------------------------------


def parse_log(text: str, where: str = "log.md") -> LogFile:
    """Parses every entry; lines that cannot be parsed are problems."""
    lines = _split(text)
    log = LogFile(lines)
    starts = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=False):
        log.blocks.append(_read_block(log, where, start, stop))
    for line in lines if "forgotten -->" in text else ():
        if match := _FORGOTTEN.fullmatch(line.rstrip("\r\n")):
            log.forgotten.add(md.decode(match[1]))
    return log


def _split(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _read_block(log: LogFile, where: str, start: int, stop: int) -> Block:
    def report(number: int, what: str, fix: str = "It is left as it is") -> None:
        log.problems.append(md.problem(where, number + 1, what, fix))

    lines = [line.rstrip("\r\n") for line in log.lines[start:stop]]
    end, identity = next(
        ((n, match) for n, line in enumerate(lines) if (match := _END.fullmatch(line))), (0, None)
    )
    if identity is None:
        report(start, "the entry breaks off before its end", "The next capture of it is added below")
        return Block(start, stop, None, stop)
    heading = lines[0].removeprefix("## ").split(" · ")
    try:
        if len(heading) not in (3, 4):
            raise ValueError("its heading is not: time · agent · session · branch")
        _, agent, _, branch = map(md.decode, [*heading, ""][:4])
        known: dict[str, Any] = {"session": md.decode(identity[1]), "at": md.parse_time(identity[2])}
    except ValueError as error:
        report(start, f"the entry cannot be read: {error}")
        return Block(start, stop, None, start + end + 1)
    values = {"agent": agent, "branch": branch, **known}
    under = ""
    for number, line in enumerate(lines[1:end], start + 1):
        label = _LABEL.fullmatch(line)
        try:
            if label:
                under = label[1]
                _take(values, under, label[2] or "", known)
            elif under in _ITEMS and line.startswith("  - "):
                _add_item(values, under, line[4:], known)
            elif line.strip():
                raise ValueError("a line that is no part of an entry")
        except (ValueError, OverflowError) as error:
            report(number, str(error))
    return Block(start, stop, LogEntry(**values), start + end + 1)


def _take(values: dict[str, Any], label: str, cell: str, known: dict[str, Any]) -> None:
    if name := _TEXTS.get(label) or _LAST.get(label):
        values[name] = md.decode(cell)
    elif label in _LISTS:
        values[_LISTS[label]] = md.decode_list(cell)
    elif label not in _ITEMS:
        raise ValueError(f"the label {label!r} is unknown")
    elif cell:
        _add_item(values, label, cell, known)


def _add_item(values: dict[str, Any], label: str, cell: str, known: dict[str, Any]) -> None:
    name, form = _ITEMS[label]
    values[name] = (*values.get(name, ()), form.parse(cell, known))


# --- the entry of a session ----------------------------------------------------------------------------

MOST_CONTEXT = 220
MOST_SUMMARY = 300
MOST_ITEMS = 4
MOST_OPEN = 6
MOST_FILES = 8
MOST_COMMITS = 6
_LEAST_SAID = 25  # characters: "fix it" alone is too little
_ENOUGH_SAID = 90
_INTRODUCES = 60  # a longer line that ends with a colon says something itself
_MARKS = lazy_regex(r"^(?:[#>*•-]+|\d+[.)])\s+")
_COMMAND_ALONE = lazy_regex(r"/[\w:.-]+")  # of the client: how, and not what


def log_entry(record: DistilledSession, now: float, left: Sequence[OpenItem] | None = None) -> LogEntry:
    """What happened, why, and what is left. A session without a date gets the current one.

    `left`: what it left open as the state has it, so that a to-do is worded alike, and has one id, in both.
    """
    harvest = record.harvest
    open_items = harvest.open_items if left is None else left
    at = next((moment for moment in (record.started, record.ended) if moment is not None), now)
    return LogEntry(
        session=record.session,
        agent=record.agent,
        at=at,
        branch=record.branch,
        context=("(headless) " if record.headless else "") + goal_line(record, MOST_CONTEXT),
        outcome=_outcome(record),
        decisions=tuple(replace(item, at=at) for item in harvest.decisions[:MOST_ITEMS]),
        findings=tuple(replace(item, at=at) for item in harvest.findings[:MOST_ITEMS]),
        dead_ends=tuple(replace(item, at=at) for item in harvest.dead_ends[:MOST_ITEMS]),
        questions=tuple(replace(item, at=at) for item in harvest.questions[:MOST_ITEMS]),
        open_items=tuple(
            replace(item, at=at, branch="", session=record.session) for item in open_items[:MOST_OPEN]
        ),
        files=_files(record),
        commits=harvest.commits[-MOST_COMMITS:],
        summary=summary_of(record, MOST_SUMMARY),
        transcript=record.sources[0] if record.sources else "",
    )


def title_line(record: DistilledSession, most: int) -> str:
    """What lists call the session; of a record of earlier versions its goal."""
    return cut(record.title, most) if record.title else goal_line(record, most)


def goal_line(record: DistilledSession, most: int) -> str:
    """The goal of the session: the first meaningful words of a person."""
    for prompt in record.prompts or (record.goal,):
        line = _first_said(prompt)
        says = len(line) >= _LEAST_SAID and not _COMMAND_ALONE.fullmatch(line)
        if says or (line and len(record.prompts) < 2):
            return cut(line, most)
    return cut(" ".join(record.goal.split()), most)


def _first_said(prompt: str) -> str:
    """The first line, with those after it while it only introduces them; of a plan to implement its title."""
    if plan := PLAN_TO_DO.match(prompt):
        title = plan_title(prompt[plan.end() :].lstrip().partition("\n")[0])
        if title:
            return f"Implement the plan: {plain(title)}"
    text = ""
    for line in prose_of(prompt).lines:
        text = f"{text} {_MARKS.sub('', plain(line))}".strip()
        if len(text) >= _LEAST_SAID and not (text.endswith(":") and len(text) <= _INTRODUCES):
            break
    return text.rstrip(":")


def summary_of(record: DistilledSession, most: int) -> str:
    """What the session did. Records of earlier versions have only its last message."""
    return cut(record.summary, most) if record.summary else summary_line(record.final_message, most)


def task_line(title: str, most: int) -> str:
    """A request as something to do: its first sentence, not the whole prompt."""
    line = _first_said(title) or " ".join(title.split())
    return cut(next(iter(sentences(line)), line) if len(line) > _ENOUGH_SAID else line, most)


def _outcome(record: DistilledSession) -> str:
    why = " ".join(without_escapes(record.outcome_why).split())
    return f"{record.outcome} ({cut(why, 120)})" if why else record.outcome


def _files(record: DistilledSession) -> tuple[str, ...]:
    """The changed files of the repository, the most edited first."""
    edited_here = (
        touch for touch in record.files if touch.edits and not touch.path.startswith(("/", "~", ".."))
    )
    edited = sorted(edited_here, key=lambda touch: -touch.edits)
    return tuple(touch.path for touch in edited[:MOST_FILES])
