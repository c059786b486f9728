"""What of a memory can be found: its files cut by meaning, each piece with where it stands and whose it is.

A piece is a fact, a decision, a finding, a dead end, a question, a line of the state, or a session as a whole; the
same statement in two files is one piece, because its id is a hash of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.model.ledger import LedgerEntry
from holdfast.model.memory import DeadEnd, Decision, LogEntry, OpenItem, content_id
from holdfast.model.search import COMMITS, FILES, OUTCOME, Chunk
from holdfast.text.current_md import Done, NextStep, parse_current
from holdfast.text.digest_lines import stumble_text
from holdfast.text.log_md import parse_log
from holdfast.text.questions_md import parse_questions
from holdfast.text.reference_md import parse_reference

_ID = re.compile(r" · ([A-Z]-[0-9a-z]{6})(?: <!--.*)?\s*$")
_STYLE_NOISE = ("#", "<!--", "This file is yours")


def chunks_of_file(shown: str, text: str, project: str) -> list[Chunk]:
    """The pieces of one file of the memory; none of a file that is not known, or cannot be read."""
    name = Path(shown).name
    if name == "current.md":
        return list(_state(shown, text, project))
    if name == "style.md":
        return list(_style(shown, text))
    if name == "reference.md":
        return list(_reference(shown, text, project))
    if name == "open-questions.md":
        return list(_questions(shown, text, project))
    if name == "log.md" or "/archive/" in shown:
        return list(_log(shown, text, project))
    return []


def chunks_of_ledger(rows: Iterable[tuple[LedgerEntry, str, int]], project: str) -> list[Chunk]:
    """A row, with its file and line, is found by its keywords, its model and how it ended."""
    return [
        Chunk(
            id=f"ledger:{row.session}",
            kind="ledger",
            text=" · ".join(dict.fromkeys(_said_of_row(row))),
            when=row.timestamp.timestamp() if row.timestamp else None,
            path=path,
            line=line,
            session=row.session,
            project=project,
        )
        for row, path, line in rows
        if not row.forgotten
    ]


def _said_of_row(row: LedgerEntry) -> Iterator[str]:
    yield " ".join(row.goal) or "(no goal)"
    fields = (row.kind, row.outcome, row.model, row.agent, row.framework, row.project_type)
    yield from (str(field) for field in fields if field)
    if row.failures:
        yield f"failures: {' '.join(row.failures)}"


# --- the log -------------------------------------------------------------------------------------------


def _log(shown: str, text: str, project: str) -> Iterator[Chunk]:
    log = parse_log(text, shown)
    lines = _lines_of_ids(text)
    for block in log.blocks:
        if block.entry is not None:
            yield from _entry(shown, block.entry, block.start + 1, lines, project)


def _entry(shown: str, entry: LogEntry, line: int, lines: dict[str, int], project: str) -> Iterator[Chunk]:
    def piece(id: str, text: str, title: str = "") -> Chunk:
        where = lines.get(id, line)
        return Chunk(
            id=id,
            kind="history",
            text=text,
            title=title,
            when=entry.at,
            path=shown,
            line=where,
            session=entry.session,
            project=project,
        )

    done = [entry.context, f"{OUTCOME}{entry.outcome}" if entry.outcome else "", entry.summary]
    done += [f"{FILES}{' '.join(entry.files)}"] if entry.files else []
    done += [f"{COMMITS}{'; '.join(entry.commits)}"] if entry.commits else []
    if any(done):  # a note that an agent left is no session: it has only its finding
        yield piece(f"session:{entry.session}", "\n".join(filter(None, done)), entry.branch)
    for decision in entry.decisions:
        yield piece(decision.id, said_of(decision))
    for finding in entry.findings:
        yield piece(finding.id, finding.text)
    for dead_end in entry.dead_ends:
        yield piece(dead_end.id, said_of(dead_end))


def said_of(item: Decision | DeadEnd) -> str:
    """A statement in one line, with what makes it useful."""
    if isinstance(item, Decision):
        return f"{item.text} (because {item.rationale})" if item.rationale else item.text
    instead = f" → `{item.instead}` worked" if item.instead else ""
    return f"`{item.tried}` fails here ({item.failed}){instead}"


# --- facts, questions, state ---------------------------------------------------------------------------


def _reference(shown: str, text: str, project: str) -> Iterator[Chunk]:
    reference, lines = parse_reference(text, shown).reference, _lines_of_ids(text)
    for kept in reference.facts:
        fact = kept.fact
        if kept.retired_at is None:
            shows = f" ({fact.command} → {fact.evidence})" if fact.command else f" ({fact.evidence})"
            yield Chunk(
                id=fact.id,
                kind="fact",
                text=f"{fact.text}{shows}",
                title=" ".join([fact.category, *_other_names(fact.text)]),
                when=fact.verified_at or fact.at,
                path=shown,
                line=lines.get(fact.id, 0),
                session=fact.session,
                project=project,
            )
    for decision in reference.decisions:
        yield Chunk(
            id=decision.id,
            kind="history",
            text=said_of(decision),
            title="decision",
            when=decision.at,
            path=shown,
            line=lines.get(decision.id, 0),
            session=decision.session,
            project=project,
        )


# Who asks for the linter means what lints: no stem makes one of the two.
_OTHER_NAMES = {
    " lints ": "linter",
    " runs the tests ": "testing",
    " builds ": "compile",
    " checks types ": "type checker typecheck",
    " formats ": "formatter",
}


def _other_names(text: str) -> Iterator[str]:
    return (name for said, name in _OTHER_NAMES.items() if said in text)


def _questions(shown: str, text: str, project: str) -> Iterator[Chunk]:
    lines = _lines_of_ids(text)
    for question in parse_questions(text, shown).questions:
        yield Chunk(
            id=question.id,
            kind="question",
            text=f"{question.text} → {question.answer or '(open)'}",
            when=question.answered_at or question.at,
            path=shown,
            line=lines.get(question.id, 0),
            session=question.session,
            project=project,
        )


def _state(shown: str, text: str, project: str) -> Iterator[Chunk]:
    file = parse_current(text, shown)
    current, lines = file.current, _lines_of_ids(text)
    dated: tuple[tuple[str, NextStep | OpenItem | Done], ...] = (
        *(("Next", step) for step in current.next),
        *(("To do", item) for item in current.todo),
        *(("Done", item) for item in current.done),
    )
    for label, item in dated:
        said = f"{label}: {item.text}"
        yield Chunk(
            id=f"state:{content_id('S', said)}",
            kind="state",
            text=said,
            title=item.branch,
            when=item.at,
            path=shown,
            line=line_of(text, item.text),
            session=item.session,
            project=item.project or (project if item.session else ""),  # what a person noted holds for all
        )
    for stumble in current.stumbles:
        said, line = stumble_text(stumble), lines.get(stumble.id, 0)
        yield Chunk(
            id=stumble.id, kind="state", text=said, when=stumble.at, path=shown, line=line, project=project
        )
    for note in file.person:
        said = note.strip()
        id, line = f"state:{content_id('S', note)}", line_of(text, said)
        yield Chunk(id=id, kind="state", text=said, path=shown, line=line)


def line_of(text: str, said: str) -> int:
    """Where something stands, counted from 1; 0 when it was written in other signs."""
    first = said.partition("\n")[0]
    place = text.find(first) if first else -1
    return text.count("\n", 0, place) + 1 if place >= 0 else 0


def _style(shown: str, text: str) -> Iterator[Chunk]:
    for number, line in enumerate(text.split("\n"), 1):
        said = line.strip().lstrip("-* ")
        if said and not line.startswith(_STYLE_NOISE):
            id = f"style:{content_id('S', said)}"
            yield Chunk(id=id, kind="knowledge", text=said, path=shown, line=number)


def _lines_of_ids(text: str) -> dict[str, int]:
    """Where each id stands, counted from 1; the first place counts."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if match := _ID.search(line):
            found.setdefault(match[1], number)
    return found
