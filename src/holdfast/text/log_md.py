"""log.md: one entry per session, read by a person in ten lines; entries out of text and into it.

An entry begins with its heading and ends with a comment that names the session in full. One that has no end
was torn by a crash: it is reported and left alone. What stands between entries is a person's, and the lines
`<!-- session ID · forgotten -->`, one for each session that was forgotten: whatever else is said of it does not
count, and it is not logged again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct, field

from holdfast.model.memory import LogEntry
from holdfast.text import memory_md as md
from holdfast.text.memory_md import Form, Problem

_HEADING = re.compile(r"## (?:\d{4}-\d\d-\d\d \d\d:\d\d|undated) · ")
_LABEL = re.compile(r"- \*\*([A-Z][a-z ]+):\*\*(?: (.*))?")
_END = re.compile(r"<!-- session (.*) · at ([^ ].*) -->")
_FORGOTTEN = re.compile(r"<!-- session (.*) · forgotten -->")
_SHORT = 8
_SORT_OF_ID = re.compile(r"[a-z]{1,10}[-_]")  # what all ids of an agent begin with tells none of them apart

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
    """Lines `start` up to `stop`, counted from 0: an entry with all that follows it up to the next.

    The entry itself ends before the line `end`; one that was torn has no end of its own.
    """

    start: int
    stop: int
    entry: LogEntry | None
    end: int = 0


class LogFile(Struct):
    """A log as read, every entry in the order of the file. `preamble` is what stands above the first."""

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
    """One entry per session: the last one counts, in the place of the first."""
    found: dict[str, LogEntry] = {}
    for entry in entries:
        found[entry.session] = entry
    return list(found.values())


# --- writing -------------------------------------------------------------------------------------------


def render_beginning(project: str) -> str:
    return (
        f"# Log of {md.encode(project)}\n\n"
        "What each session did and why, oldest first; times are UTC. holdfast only adds to this file.\n"
    )


def render_entry(entry: LogEntry) -> str:
    """The lines of one entry, with the blank line that sets it off."""
    heading = [md.render_minute(entry.at), md.encode(entry.agent), heading_name(entry.session)]
    heading += [md.encode(entry.branch)] if entry.branch else []
    lines = ["", f"## {' · '.join(_undotted(part) for part in heading)}", ""]
    lines += _labelled(_TEXTS, entry)
    known = _known(entry)
    for label, (name, form) in _ITEMS.items():
        items = getattr(entry, name)
        if items:
            lines += [f"- **{label}:**", *(f"  - {form.render(item, known)}" for item in items)]
    for label, name in _LISTS.items():
        if values := getattr(entry, name):
            lines.append(f"- **{label}:** {md.encode_list(values)}")
    lines += _labelled(_LAST, entry)
    lines.append(f"{end_prefix(entry.session)}{md.render_time(entry.at)} -->")
    return "".join(f"{line}\n" for line in lines)


def end_prefix(session: str) -> str:
    """How the last line of a session's entry begins: what to look for without reading a whole archive."""
    return f"<!-- session {_undotted(md.encode(session))} · at "


def forgotten_line(session: str) -> str:
    """What stands in the place of a session's entries when it was forgotten."""
    return f"<!-- session {_undotted(md.encode(session))} · forgotten -->"


def heading_name(session: str) -> str:
    """A session as headings name it: all that a torn entry tells."""
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


def _known(entry: LogEntry) -> dict[str, object]:
    """What items need not repeat: it stands in the entry's heading."""
    return {"session": entry.session, "at": entry.at}


# --- reading -------------------------------------------------------------------------------------------


def parse_log(text: str, where: str = "log.md") -> LogFile:
    """Every entry that can be read; a problem for each line that cannot."""
    lines = _split(text)
    log = LogFile(lines)
    starts = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=False):
        reader = _Reader(log, where)
        entry = reader.read(start, stop)
        log.blocks.append(Block(start, stop, entry, reader.end))
    for line in lines if "forgotten -->" in text else ():
        if found := _FORGOTTEN.fullmatch(line.rstrip("\r\n")):
            log.forgotten.add(md.decode(found[1]))
    return log


def _split(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


class _Reader:
    def __init__(self, log: LogFile, where: str) -> None:
        self.log = log
        self.where = where
        self.end = 0

    def read(self, start: int, stop: int) -> LogEntry | None:
        lines = [line.rstrip("\r\n") for line in self.log.lines[start:stop]]
        end = next((n for n, line in enumerate(lines) if _END.fullmatch(line)), None)
        self.end = stop if end is None else start + end + 1
        if end is None:
            self._report(
                start, "the entry breaks off before its end", "The next capture of it is added below"
            )
            return None
        try:
            values = self._identity(lines[0], lines[end])
        except ValueError as error:
            self._report(start, f"the entry cannot be read: {error}")
            return None
        known = {"session": values["session"], "at": values["at"]}
        self._fill(values, known, lines[1:end], start + 1)
        return LogEntry(**values)

    def _identity(self, heading: str, end: str) -> dict[str, Any]:
        parts = [md.decode(part) for part in heading.removeprefix("## ").split(" · ")]
        if len(parts) not in (3, 4):
            raise ValueError("its heading is not: time · agent · session · branch")
        found = cast("re.Match[str]", _END.fullmatch(end))
        branch = parts[3] if len(parts) == 4 else ""
        return {
            "agent": parts[1],
            "branch": branch,
            "session": md.decode(found[1]),
            "at": md.parse_time(found[2]),
        }

    def _fill(self, values: dict[str, Any], known: dict[str, object], lines: list[str], first: int) -> None:
        under: tuple[str, Form[Any]] | None = None
        for number, line in enumerate(lines, first):
            label = _LABEL.fullmatch(line)
            try:
                if label:
                    under = _ITEMS.get(label[1])
                    self._take(values, label[1], label[2] or "", known)
                elif under and line.startswith("  - "):
                    name, form = under
                    values[name] = (*values.get(name, ()), form.parse(line[4:], known))
                elif line.strip():
                    raise ValueError("a line that is no part of an entry")
            except (ValueError, OverflowError) as error:
                self._report(number, str(error))

    def _take(self, values: dict[str, Any], label: str, cell: str, known: dict[str, object]) -> None:
        text_name = _TEXTS.get(label) or _LAST.get(label)
        if text_name:
            values[text_name] = md.decode(cell)
        elif label in _LISTS:
            values[_LISTS[label]] = md.decode_list(cell)
        elif label not in _ITEMS:
            raise ValueError(f"the label {label!r} is unknown")
        elif cell:
            name, form = _ITEMS[label]
            values[name] = (*values.get(name, ()), form.parse(cell, known))

    def _report(self, number: int, what: str, fix: str = "It is left as it is") -> None:
        self.log.problems.append(md.problem(self.where, number + 1, what, fix))
