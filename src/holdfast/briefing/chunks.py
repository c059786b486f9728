"""Splits the files of a memory into chunks for the search index, each with its file, line, session and project.

A chunk is a fact, a decision, a passage, a finding, a dead end, a question, a line of the state, or a whole session.
The same statement in two files is one chunk, because its id is a hash of its words.
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
from holdfast.memory.decisions import FOLDER, parse_decisions, passage_statement, shown_text
from holdfast.memory.log import parse_log
from holdfast.memory.reference import parse_questions, parse_reference
from holdfast.memory.store import lines_of_ids
from holdfast.model.ledger import LedgerEntry
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question, content_id
from holdfast.model.search import Chunk
from holdfast.model.statement import Said, SessionText, encoded, rules_of, statement_of, text_of
from holdfast.store.line_grammar import readable
from holdfast.store.machine import Machine
from holdfast.store.project import Project

_STYLE_NOISE = ("#", "<!--", "This file is yours")


def chunks_of_file(shown: str, text: str, project: str) -> list[Chunk]:
    """The chunks of one memory file; none for an unknown file."""
    folder = Path(shown).parent.name
    name = "log.md" if folder == "archive" else f"{FOLDER}/" if folder == FOLDER else Path(shown).name
    return list(_FILES[name](shown, readable(text), project)) if name in _FILES else []


def chunks_of_ledger(rows: Iterable[tuple[LedgerEntry, str, int]], project: str) -> list[Chunk]:
    """A chunk for each row, with its file and line: searchable by keywords, model and outcome."""
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
        if done != SessionText():  # an agent's note is not a session: it has only a finding
            id, line = f"session:{entry.session}", block.start + 1
            yield _piece(id, done, entry.at, "history", title=entry.branch, line=line, **where)
        items: list[Decision | Finding | DeadEnd] = [*entry.decisions, *entry.findings, *entry.dead_ends]
        for item in items:
            line = lines.get(item.id, block.start + 1)
            kind = "decision" if isinstance(item, Decision) else "history"
            yield _piece(item.id, statement_of(item), entry.at, kind, line=line, **where)


def _piece(id: str, said: Said, when: float | None, kind: str, **more: Any) -> Chunk:
    return Chunk(id=id, kind=kind, text=text_of(said), when=when, data=encoded(said), **more)


def _reference(shown: str, text: str, project: str) -> Iterator[Chunk]:
    reference, lines = parse_reference(text, shown).reference, lines_of_ids(text)
    for fact in (recorded.fact for recorded in reference.facts if recorded.retired_at is None):
        names = [name for term, name in _OTHER_NAMES.items() if term in fact.text]
        yield _of_item(fact, "fact", shown, lines, project, " ".join([fact.category, *names]))
    for decision in reference.decisions:
        yield _of_item(decision, "decision", shown, lines, project, "decision")


def _decisions(shown: str, text: str, project: str) -> Iterator[Chunk]:
    file = parse_decisions(text, shown)
    for section, lines in zip(file.sections, file.lines, strict=True):
        for passage, line in zip(section.passages, lines, strict=True):
            statement = passage_statement(passage, section)
            yield Chunk(
                id=passage.id,
                kind="decision",
                text=shown_text(statement),
                when=section.at,
                path=shown,
                line=line,
                session=passage.session,
                project=project,
                data=encoded(statement),
            )


def _of_item(
    item: Fact | Decision | Question,
    kind: str,
    shown: str,
    lines: dict[str, int],
    project: str,
    title: str = "",
) -> Chunk:
    statement = statement_of(item)
    place = {"path": shown, "line": lines.get(item.id, 0), "session": item.session, "project": project}
    return _piece(item.id, statement, statement.at, kind, title=title, **place)


# A search for "linter" should find "lint": the stemmer does not join the two.
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
        line_text = f"{label}: {item.text}"
        yield Chunk(
            id=f"state:{content_id('S', line_text)}",
            kind="state",
            text=line_text,
            title=item.branch,
            when=item.at,
            path=shown,
            line=line_of(text, item.text),
            session=item.session,
            project=item.project
            or (project if item.session else ""),  # a person's note applies to all projects
            data=encoded(SessionText(goal=item.text)) if isinstance(item, Done) else "",
        )
    for stumble in current.stumbles:
        line_text, line = stumble_text(stumble), lines.get(stumble.id, 0)
        yield Chunk(
            id=stumble.id,
            kind="state",
            text=line_text,
            when=stumble.at,
            path=shown,
            line=line,
            project=project,
        )
    for note in file.person:
        line_text = note.strip()
        id, line = f"state:{content_id('S', note)}", line_of(text, line_text)
        yield Chunk(id=id, kind="state", text=line_text, path=shown, line=line)


def line_of(text: str, said: str) -> int:
    """The line number of a text, from 1; 0 when it is written differently."""
    first = said.partition("\n")[0]
    place = text.find(first) if first else -1
    return text.count("\n", 0, place) + 1 if place >= 0 else 0


def _style(shown: str, text: str, project: str) -> Iterator[Chunk]:
    for number, line in enumerate(text.split("\n"), 1):
        style_rule = line.strip().lstrip("-* ")
        if style_rule and not line.startswith(_STYLE_NOISE):
            id = f"style:{content_id('S', style_rule)}"
            yield Chunk(id=id, kind="knowledge", text=style_rule, path=shown, line=number)


_FILES: dict[str, Callable[[str, str, str], Iterator[Chunk]]] = {
    "current.md": _state,
    "style.md": _style,
    "reference.md": _reference,
    "open-questions.md": _questions,
    "log.md": _log,
    f"{FOLDER}/": _decisions,
}
_FOUND = ("active", "candidate", "stale", "muted")


def lessons_stamp(machine: Machine, project: Project) -> str:
    """A stamp of every file that defines lessons; '' without any. Usage records are not included."""
    store = lesson_store(machine, project)
    stamps = []
    for place, folder in store.folders.items():
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".md") or entry.name == "choices.json":
                        status = entry.stat(follow_symlinks=False)
                        stamps.append(f"{place}/{entry.name}:{status.st_size}:{status.st_mtime_ns}")
        except OSError:
            continue
    if not stamps:
        return ""
    # Trust can be given and revoked without any of these files changing.
    if any(entry_stamp.startswith("shared/") for entry_stamp in stamps):
        lessons = store.read()
        stamps += [
            f"trust:{entry_stamp.lesson.name}"
            for entry_stamp in lessons.shared.lessons
            if lessons.is_trusted(entry_stamp)
        ]
    return blake2b("\n".join(sorted(stamps)).encode("utf-8", "replace"), digest_size=12).hexdigest()


def lesson_chunks(machine: Machine, project: Project) -> list[Chunk]:
    lessons = lesson_store(machine, project).read()
    return [
        chunk for status in states(machine, lessons) if status.state in _FOUND for chunk in _of_lesson(status)
    ]


def _of_lesson(seen: LessonStatus) -> Iterator[Chunk]:
    lesson = seen.lesson
    latest = max(
        (evidence.at for evidence in lesson.evidence if evidence.at is not None), default=lesson.captured_at
    )
    file_text = seen.stored.data.decode("utf-8", "replace")
    for rule in rules_of(lesson):
        yield _piece(
            rule.id,
            rule,
            latest,
            "lesson",
            title=f"{lesson.name} {lesson.description}",
            path=f"{SHOWN[seen.place]}/{lesson.name}.md",
            line=line_of(file_text, f"- {rule.text}"),
            session=rule.session,
        )


def lessons_told(machine: Machine, project: Project) -> frozenset[str]:
    """The ids of the chunks that a task may see: those of lessons that are active here and now."""
    rules = [rule for active in active_lessons(machine, project) for rule in active.lesson.rules]
    return frozenset(f"lesson:{content_id('L', rule)}" for rule in rules)


def knowledge_chunks(project: Project, shown: str) -> list[Chunk]:
    """Conventions and patterns. Facts come from sessions and are in reference.md, with their evidence."""
    knowledge_now = knowledge.load(project).now
    texts = [
        *(
            _convention(item.category, item.scope, item.pattern, item.example)
            for item in knowledge_now.conventions
        ),
        *(f"{item.name}: {item.description}" for item in knowledge_now.patterns),
    ]
    texts_by_id = {f"knowledge:{content_id('K', text)}": text for text in texts}
    return [Chunk(id=id, kind="knowledge", text=text, path=shown) for id, text in texts_by_id.items()]


def _convention(category: str, scope: str, pattern: str, example: str) -> str:
    where = f" ({scope})" if scope else ""
    more = f", e.g. {example}" if example and example not in pattern else ""
    return f"{category}{where}: {pattern}{more}"
