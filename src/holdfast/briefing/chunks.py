"""What of a memory can be found: its files cut by meaning, each piece with where it stands and whose it is.

A piece is a fact, a decision, a finding, a dead end, a question, a line of the state, or a session as a whole; the
same statement in two files is one piece, because its id is a hash of its words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from holdfast.core.hashes import blake2b
from holdfast.knowledge import store as knowledge
from holdfast.lessons.states import LessonStatus, active_lessons, lesson_store, states
from holdfast.lessons.store import SHOWN
from holdfast.memory.current import Done, NextStep, parse_current
from holdfast.memory.current_digest import stumble_text
from holdfast.memory.log import parse_log
from holdfast.memory.reference import parse_questions, parse_reference
from holdfast.memory.store import lines_of_ids
from holdfast.model.ledger import LedgerEntry
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question, content_id
from holdfast.model.search import Chunk
from holdfast.model.statement import Said, SessionText, encoded, rules_of, statement_of, text_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project

_STYLE_NOISE = ("#", "<!--", "This file is yours")


def chunks_of_file(shown: str, text: str, project: str) -> list[Chunk]:
    """The pieces of one file of the memory; none of a file that is not known."""
    name = "log.md" if "/archive/" in shown else Path(shown).name
    return list(_FILES[name](shown, text, project)) if name in _FILES else []


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


def _log(shown: str, text: str, project: str) -> Iterator[Chunk]:
    lines = lines_of_ids(text)
    for block in parse_log(text, shown).blocks:
        if (entry := block.entry) is None:
            continue
        where = {"path": shown, "session": entry.session, "project": project}
        done = SessionText(
            goal=entry.context,
            outcome=entry.outcome,
            summary=entry.summary,
            files=entry.files,
            commits=entry.commits,
        )
        if done != SessionText():  # a note that an agent left is not a session: it has only its finding
            id, line = f"session:{entry.session}", block.start + 1
            yield _piece(id, done, entry.at, "history", title=entry.branch, line=line, **where)
        items: list[Decision | Finding | DeadEnd] = [*entry.decisions, *entry.findings, *entry.dead_ends]
        for item in items:
            line = lines.get(item.id, block.start + 1)
            yield _piece(item.id, statement_of(item), entry.at, "history", line=line, **where)


def _piece(id: str, said: Said, when: float | None, kind: str, **more: Any) -> Chunk:
    return Chunk(id=id, kind=kind, text=text_of(said), when=when, data=encoded(said), **more)


def _reference(shown: str, text: str, project: str) -> Iterator[Chunk]:
    reference, lines = parse_reference(text, shown).reference, lines_of_ids(text)
    for fact in (kept.fact for kept in reference.facts if kept.retired_at is None):
        names = [name for said, name in _OTHER_NAMES.items() if said in fact.text]
        yield _of_item(fact, "fact", shown, lines, project, " ".join([fact.category, *names]))
    for decision in reference.decisions:
        yield _of_item(decision, "history", shown, lines, project, "decision")


def _of_item(
    item: Fact | Decision | Question,
    kind: str,
    shown: str,
    lines: dict[str, int],
    project: str,
    title: str = "",
) -> Chunk:
    said = statement_of(item)
    place = {"path": shown, "line": lines.get(item.id, 0), "session": item.session, "project": project}
    return _piece(item.id, said, said.at, kind, title=title, **place)


# Who asks for the linter means what lints: no stem makes one of the two.
_OTHER_NAMES = {
    " lints ": "linter",
    " runs the tests ": "testing",
    " builds ": "compile",
    " checks types ": "type checker typecheck",
    " formats ": "formatter",
}


def _questions(shown: str, text: str, project: str) -> Iterator[Chunk]:
    lines = lines_of_ids(text)
    for question in parse_questions(text, shown).questions:
        yield _of_item(question, "question", shown, lines, project)


def _state(shown: str, text: str, project: str) -> Iterator[Chunk]:
    file = parse_current(text, shown)
    current, lines = file.current, lines_of_ids(text)
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
            data=encoded(SessionText(goal=item.text)) if isinstance(item, Done) else "",
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


def _style(shown: str, text: str, project: str) -> Iterator[Chunk]:
    for number, line in enumerate(text.split("\n"), 1):
        said = line.strip().lstrip("-* ")
        if said and not line.startswith(_STYLE_NOISE):
            id = f"style:{content_id('S', said)}"
            yield Chunk(id=id, kind="knowledge", text=said, path=shown, line=number)


_FILES: dict[str, Callable[[str, str, str], Iterator[Chunk]]] = {
    "current.md": _state,
    "style.md": _style,
    "reference.md": _reference,
    "open-questions.md": _questions,
    "log.md": _log,
}
_FOUND = ("active", "candidate", "stale", "muted")


def lessons_stamp(machine: Machine, project: Project) -> str:
    """Of every file that decides which lessons there are; '' without any. What was told and paid is not among them."""
    store = lesson_store(machine, project)
    seen = []
    for place, folder in store.folders.items():
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".md") or entry.name == "choices.json":
                        status = entry.stat(follow_symlinks=False)
                        seen.append(f"{place}/{entry.name}:{status.st_size}:{status.st_mtime_ns}")
        except OSError:
            continue
    if not seen:
        return ""
    # Agreement can be given and taken back without any of these files changing.
    if any(one.startswith("shared/") for one in seen):
        shelf = store.read()
        seen += [f"trust:{one.lesson.name}" for one in shelf.shared.lessons if shelf.is_trusted(one)]
    return blake2b("\n".join(sorted(seen)).encode("utf-8", "replace"), digest_size=12).hexdigest()


def lesson_chunks(machine: Machine, project: Project) -> list[Chunk]:
    shelf = lesson_store(machine, project).read()
    return [chunk for seen in states(machine, shelf) if seen.state in _FOUND for chunk in _of_lesson(seen)]


def _of_lesson(seen: LessonStatus) -> Iterator[Chunk]:
    lesson = seen.lesson
    latest = max((one.at for one in lesson.evidence if one.at is not None), default=lesson.captured_at)
    written = seen.stored.data.decode("utf-8", "replace")
    for said in rules_of(lesson):
        yield _piece(
            said.id,
            said,
            latest,
            "lesson",
            title=f"{lesson.name} {lesson.description}",
            path=f"{SHOWN[seen.place]}/{lesson.name}.md",
            line=line_of(written, f"- {said.text}"),
            session=said.session,
        )


def lessons_told(machine: Machine, project: Project) -> frozenset[str]:
    """The ids of the pieces that may be told to a task: those of lessons that count here and now."""
    rules = [rule for one in active_lessons(machine, project) for rule in one.lesson.rules]
    return frozenset(f"lesson:{content_id('L', rule)}" for rule in rules)


def knowledge_chunks(project: Project, shown: str) -> list[Chunk]:
    """Conventions and patterns. Its facts come from sessions and stand in reference.md, with their evidence."""
    known = knowledge.load(project).now
    said = [
        *(_convention(one.category, one.scope, one.pattern, one.example) for one in known.conventions),
        *(f"{one.name}: {one.description}" for one in known.patterns),
    ]
    found = {f"knowledge:{content_id('K', text)}": text for text in said}
    return [Chunk(id=id, kind="knowledge", text=text, path=shown) for id, text in found.items()]


def _convention(category: str, scope: str, pattern: str, example: str) -> str:
    where = f" ({scope})" if scope else ""
    more = f", e.g. {example}" if example and example not in pattern else ""
    return f"{category}{where}: {pattern}{more}"
