"""decisions/<month>.md: what sessions settled and found, in the words that were used, a section for each session.

A person may change or delete a line: what stands here counts. A section is written when its session ends; later writes
only add lines, so that nothing a person took out comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct, field

from holdfast.core.patterns import lazy_regex
from holdfast.core.tokens import cut_to
from holdfast.model.memory import Passage
from holdfast.model.statement import Stamp, Statement
from holdfast.store import line_grammar as md
from holdfast.store.line_grammar import Problem

FOLDER = "decisions"
_SECTION = lazy_regex(r"## (.*?)(?: · branch: (.*?))?(?: <!-- session (.*) -->)?\s*\Z")
_TITLE_TOKENS = 24
_DATED = lazy_regex(r"\A(\d{4}-\d\d-\d\d \d\d:\d\d|undated) · ")


class SessionPassages(Struct, frozen=True, kw_only=True):
    """What one session left, or ('' for `session`) what a person wrote. `title` is what it is about."""

    session: str
    title: str = ""
    at: float | None = None
    branch: str = ""
    passages: tuple[Passage, ...] = ()


class DecisionsFile(Struct):
    """A parsed file."""

    sections: list[SessionPassages] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def month_of(at: float | None) -> str:
    return md.render_month(at)


def beginning(project: str, month: str) -> str:
    return (
        f"# Decisions of {md.encode(project)}, {month}\n\n"
        "What was settled and found in sessions, in the words that were used; times are UTC.\n"
        "Change or delete a line: what stands here counts.\n"
    )


def with_sessions(text: str, new: Iterable[SessionPassages], dismissed: Collection[str] = ()) -> str:
    """The file with these sessions. Lines that stand in it, and lines that a person took out, are not added."""
    lines = text.rstrip("\n").split("\n")
    for section in new:
        known_lines = [number for number, line in enumerate(lines) if _session_of(line) == section.session]
        start = known_lines[0] if known_lines else -1
        end = _end_of(lines, start) if start >= 0 else len(lines)
        standing = _bullets(lines[start:end], section.session) if start >= 0 else ()
        known = {passage.id for _, passage in standing if passage is not None}
        added = [
            f"- {md.PASSAGE.render(passage)}"
            for passage in section.passages
            if passage.id not in known and passage.id not in dismissed
        ]
        if not added:
            continue
        if start < 0:
            lines += ["", _heading(section), ""]
            end = len(lines)
        lines[end:end] = added
    return "\n".join(lines) + "\n"


def parse_decisions(text: str, where: str = "decisions.md") -> DecisionsFile:
    file = DecisionsFile()
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith("## ")]
    for start in starts:
        session = _session_of(lines[start])
        passages: list[Passage] = []
        for number, passage in _bullets(lines[start : _end_of(lines, start)], session):
            if passage is None:
                file.problems.append(md.problem(where, start + number + 1, "no decision that can be read"))
            else:
                passages.append(passage)
        at, title, branch = _heading_parts(lines[start])
        file.sections.append(
            SessionPassages(session=session, title=title, at=at, branch=branch, passages=tuple(passages))
        )
    return file


def _heading(section: SessionPassages) -> str:
    title = cut_to(" ".join(section.title.split()), _TITLE_TOKENS) or "a session"
    branch = f" · branch: {md.encode(section.branch)}" if section.branch else ""
    heading = f"## {md.render_minute(section.at)} · {md.encode(title)}{branch}"
    return f"{heading} <!-- session {md.encode(section.session)} -->"


def _heading_parts(line: str) -> tuple[float | None, str, str]:
    match = _SECTION.match(line)
    assert match is not None
    title, at = match[1], None
    if dated := _DATED.match(title):
        title = title[dated.end() :]
        at = None if dated[1] == "undated" else md.parse_time(dated[1])
    return at, md.decode(title), md.decode(match[2]) if match[2] else ""


def _session_of(line: str) -> str:
    match = _SECTION.match(line) if line.startswith("## ") else None
    return md.decode(match[3]) if match and match[3] else ""


def _end_of(lines: Sequence[str], start: int) -> int:
    """The line after the last one of a section that says something."""
    end = start + 1
    while end < len(lines) and not lines[end].startswith("## "):
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _bullets(lines: Sequence[str], session: str) -> Iterator[tuple[int, Passage | None]]:
    for number, line in enumerate(lines):
        if not line.startswith("- "):
            continue
        try:
            yield number, md.PASSAGE.parse(line[2:], {"session": session})
        except (ValueError, OverflowError):
            yield number, None


def passage_statement(passage: Passage, section: SessionPassages, project: str = "") -> Statement:
    """A passage as a statement of its session."""
    return Statement(
        id=passage.id,
        kind=passage.kind,
        status=passage.status,
        text=passage.text,
        subject=passage.question,
        who=passage.by,
        basis="person" if passage.by == "user" else "agent",
        stamp=None if section.at is None else Stamp(section.at),
        session=section.session,
        project=project,
        branch=section.branch,
        source=f"{FOLDER}/{month_of(section.at)}.md",
        worth=passage.worth / 100,
    )
