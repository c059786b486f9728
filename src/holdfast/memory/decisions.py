"""decisions/<month>.md: what sessions settled and found, in the words that were used, a section for each session.

A person may change or delete a line: what stands here counts. A section is written when its session ends; later writes
only add lines, so that nothing a person took out comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.stamp import Stamp
from holdfast.core.tokens import cut_to
from holdfast.model.memory import Passage
from holdfast.model.statement import Statement
from holdfast.store import line_grammar as md
from holdfast.store.line_grammar import Problem

FOLDER = "decisions"
_SECTION = lazy_regex(
    r"## (?P<title>.*?)(?: · branch: (?P<branch>.*?))?(?: · by: (?P<author>.*?))?"
    r"(?: <!-- session (?P<session>.*) -->)?\s*\Z"
)
TEAM = "team"  # the file of what others of a team share, copied by sync
SHARED = "shared"  # the file of what others share in the repository, as a person here trusted it
_TITLE_TOKENS = 24
_MARKS = {
    "agreed": "",
    "proposed": "proposed: ",
    "rejected": "not: ",
    "superseded": "was: ",
    "retired": "was: ",
}
_DATED = lazy_regex(r"\A(\d{4}-\d\d-\d\d \d\d:\d\d|undated) · ")


class SessionPassages(Struct, frozen=True, kw_only=True):
    """What one session left, or ('' for `session`) what a person wrote. `title` is what it is about.

    `author` is the person who shared it through git; '' for what was settled here.
    """

    session: str
    title: str = ""
    at: float | None = None
    branch: str = ""
    passages: tuple[Passage, ...] = ()
    author: str = ""


class DecisionsFile(Struct):
    """A parsed file. `lines` are the line numbers of the passages of each section, counted from 1."""

    sections: list[SessionPassages] = field(default_factory=list)
    lines: list[tuple[int, ...]] = field(default_factory=list)
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
        start = next((number for number, line in enumerate(lines) if _is_heading_of(line, section)), -1)
        end = _end_of(lines, start) if start >= 0 else len(lines)
        bullets = _bullets(lines[start:end], section.session) if start >= 0 else ()
        known = {passage.id for _, passage in bullets if passage}
        added = [
            f"- {md.PASSAGE.render(replace(passage, session=''))}"
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


def edit_passages(
    text: str,
    edit: Callable[[Passage], Passage | None],
    edit_title: Callable[[str, str], str | None] = lambda _session, title: title,
    edit_rest: Callable[[str], str] = str,
) -> str:
    """The file with each passage as `edit` returns it, without those for which it returns None.

    `edit_title` gets the session and the title of each section; if it returns None, or if no passage is left, the
    heading goes too. `edit_rest` gets all other lines.
    """
    lines = text.split("\n")
    for start, end in reversed(_sections(lines)):
        lines[start:end] = _edited(lines[start:end], edit, edit_title, edit_rest)
    return "\n".join(lines)


def _edited(
    section: Sequence[str],
    edit: Callable[[Passage], Passage | None],
    edit_title: Callable[[str, str], str | None],
    edit_rest: Callable[[str], str],
) -> list[str]:
    session = _session_of(section[0])
    passages = {number: passage for number, passage in _bullets(section, session) if passage}
    kept = {number: edit(passage) for number, passage in passages.items()}
    is_headed = section[0].startswith("## ")
    title = _heading_parts(section[0]).title
    new_title = edit_title(session, title) if is_headed else title
    is_gone = new_title is None or (bool(passages) and not any(kept.values()))
    edited = []
    for number, line in enumerate(section):
        if number in kept:
            new = kept[number]
            if new == passages[number]:
                edited.append(line)
            elif new is not None:
                edited.append(f"- {md.PASSAGE.render(new, {'session': session})}")
        elif is_headed and is_gone and (number == 0 or not line.strip()):
            continue
        elif is_headed and number == 0:
            edited.append(
                line if new_title == title else line.replace(md.encode(title), md.encode(new_title or ""), 1)
            )
        else:
            edited.append(edit_rest(line))
    return edited


def _sections(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The first line of each section and the line after its last; what stands above the first heading is one too."""
    starts = [number for number, line in enumerate(lines) if line.startswith("## ")]
    starts = [0, *starts] if not starts or starts[0] > 0 else starts
    return list(zip(starts, [*starts[1:], len(lines)], strict=True))


def parse_decisions(text: str, where: str = "decisions.md") -> DecisionsFile:
    file = DecisionsFile()
    lines = text.split("\n")
    for start, end in _sections(lines):
        session = _session_of(lines[start])
        passages: list[tuple[int, Passage]] = []
        for number, passage in _bullets(lines[start:end], session):
            if passage is None:
                file.problems.append(md.problem(where, start + number + 1, "no decision that can be read"))
            else:
                passages.append((start + number + 1, passage))
        if not passages and not lines[start].startswith("## "):
            continue  # nothing but the words at the beginning of the file
        heading = _heading_parts(lines[start])
        file.lines.append(tuple(number for number, _ in passages))
        file.sections.append(
            SessionPassages(
                session=session,
                title=heading.title,
                at=heading.at,
                branch=heading.branch,
                author=heading.author,
                passages=tuple(passage for _, passage in passages),
            )
        )
    return file


def _heading(section: SessionPassages) -> str:
    title = cut_to(" ".join(section.title.split()), _TITLE_TOKENS) or "a session"
    branch = f" · branch: {md.encode(section.branch)}" if section.branch else ""
    author = f" · by: {md.encode(section.author)}" if section.author else ""
    session = f" <!-- session {md.encode(section.session)} -->" if section.session else ""
    return f"## {md.render_minute(section.at)} · {md.encode(title)}{branch}{author}{session}"


def _is_heading_of(line: str, section: SessionPassages) -> bool:
    """Whether a section belongs to the same session; what a person wrote has none, and is known by its title."""
    if not line.startswith("## ") or _session_of(line) != section.session:
        return False
    return bool(section.session) or _heading_parts(line).title == section.title


class _Heading(Struct, frozen=True):
    at: float | None = None
    title: str = ""
    branch: str = ""
    author: str = ""


def _heading_parts(line: str) -> _Heading:
    match = _SECTION.match(line)
    if match is None:  # above the first heading
        return _Heading()
    title, at = match["title"], None
    if dated := _DATED.match(title):
        title = title[dated.end() :]
        with suppress(ValueError):  # a day that the calendar does not have
            at = None if dated[1] == "undated" else md.parse_time(dated[1])
    return _Heading(at, md.decode(title), md.decode(match["branch"] or ""), md.decode(match["author"] or ""))


def _session_of(line: str) -> str:
    match = _SECTION.match(line) if line.startswith("## ") else None
    return md.decode(match["session"]) if match and match["session"] else ""


def _end_of(lines: Sequence[str], start: int) -> int:
    """The line after the last one of a section that says something."""
    end = start + 1
    while end < len(lines) and not lines[end].startswith("## "):
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _bullets(lines: Sequence[str], session: str) -> Iterator[tuple[int, Passage | None]]:
    """The passages of a section, None for a line that cannot be read.

    A line keeps its id when a person changes its words, so that the words before do not come back. In a copy of a line
    the id stands a second time and counts no more.
    """
    ids: set[str] = set()
    for number, line in enumerate(lines):
        if not line.startswith("- "):
            continue
        try:
            passage = md.PASSAGE.parse(line[2:], {"session": session})
        except (ValueError, OverflowError):
            yield number, None
            continue
        written_id = md.id_of_line(line)
        if written_id.startswith("D-") and written_id not in {passage.id, *ids}:
            passage = replace(passage, written_id=written_id)
        ids.add(passage.id)
        yield number, passage


def passage_statement(passage: Passage, section: SessionPassages, project: str = "") -> Statement:
    """A passage as a statement of its session."""
    return Statement(
        id=passage.id,
        kind=passage.kind,
        status=passage.status,
        text=passage.text,
        subject=passage.question,
        who=section.author or passage.by,
        basis="person" if passage.by == "user" else "agent",
        stamp=None if section.at is None else Stamp.of_seconds(section.at),
        session=section.session,
        project=project,
        branch=section.branch,
        source=f"{FOLDER}/{SHARED if section.author else month_of(section.at)}.md",
        worth=passage.worth / 100,
    )


def is_passage(statement: Statement) -> bool:
    return statement.source.startswith(f"{FOLDER}/")


def shown_text(statement: Statement) -> str:
    """A passage in one line: after the question that it answers, and marked if it does not hold."""
    text, subject = (" ".join(part.split()) for part in (statement.text, statement.subject))
    text = f"{subject} → {text}" if subject else text
    return f"{_MARKS[statement.status]}{text}"
