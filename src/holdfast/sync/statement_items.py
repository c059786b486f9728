"""Facts, decisions of the register, questions, passages, to-dos and next steps as items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import HoldfastError
from holdfast.memory import decisions as decisions_md
from holdfast.memory.current import Current, CurrentFile, NextStep, close_by_hand, todos_by_hand
from holdfast.memory.decisions import SHARED, TEAM, SessionPassages, month_of
from holdfast.memory.reference import KeptFact, Reference
from holdfast.model.memory import Decision, OpenItem, Passage, Question
from holdfast.store import line_grammar as md
from holdfast.sync.items import REASON, Items, Place, Read, built_in, by_project, key_of, parts_of, short_hash

T = TypeVar("T", bound=Struct)


def _value(body: Any, kind: type[T]) -> T | None:
    """A body as a value; None for what another version or a hostile author made."""
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError:
        return None


def values(items: Mapping[str, Any], kind: type[T]) -> list[T]:
    found = (_value(body, kind) for body in items.values() if body is not None)
    return [value for value in found if value is not None]


def _moment(at: float | None) -> float:
    return at if at is not None else 0.0


def _once(found: list[T], id: Callable[[T], str]) -> list[T]:
    """The values without those that say the same as one before."""
    return list({id(value): value for value in reversed(found)}.values())[::-1]


def _mark(read: Read, prefix: str, path: Path, problems: Sequence[object]) -> None:
    """What it means for the items of a file that some are not in it."""
    if not files.read(path):
        read.absent.add(prefix)
    elif not problems:
        read.whole.add(prefix)


class Facts:
    prefix = "fact/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in self._place.names():
            outside = self._place.outside(name)
            store = self._place.store(outside)
            try:
                file = store.facts()
            except HoldfastError as error:
                read.problems.append(error.line())
                continue
            _mark(read, f"{key_of('fact', outside)}/", store.reference_file, file.problems)
            for kept in file.reference.facts:
                read.items[key_of("fact", outside, kept.fact.id)] = built_in(kept)
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        known = by_project(everything())
        for name in by_project(changed):
            facts = values(known.get(name, {}), KeptFact)
            facts.sort(key=lambda kept: (_moment(kept.fact.at), kept.fact.id))
            facts = [kept for kept in _once(facts, lambda kept: kept.fact.id) if kept.fact.evidence.strip()]
            self._place.store(name).change_facts(
                lambda reference, facts=facts: Reference(  # type: ignore[misc]
                    facts=tuple(facts), decisions=reference.decisions
                ),
                REASON,
            )


class Register:
    prefix = "register/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in self._place.names():
            outside = self._place.outside(name)
            store = self._place.store(outside)
            try:
                file = store.facts()
            except HoldfastError:
                continue  # the facts say why
            _mark(read, f"{key_of('register', outside)}/", store.reference_file, file.problems)
            for decision in file.reference.decisions:
                read.items[key_of("register", outside, decision.id)] = built_in(decision)
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        known = by_project(everything())
        for name in by_project(changed):
            decisions = values(known.get(name, {}), Decision)
            decisions.sort(key=lambda decision: (_moment(decision.at), decision.id))
            decisions = _once(decisions, lambda decision: decision.id)
            self._place.store(name).change_facts(
                lambda reference, decisions=decisions: Reference(  # type: ignore[misc]
                    facts=reference.facts, decisions=tuple(decisions)
                ),
                REASON,
            )


class Questions:
    prefix = "question/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in self._place.names():
            outside = self._place.outside(name)
            store = self._place.store(outside)
            try:
                file = store.questions()
            except HoldfastError as error:
                read.problems.append(error.line())
                continue
            _mark(read, f"{key_of('question', outside)}/", store.questions_file, file.problems)
            for question in file.questions:
                read.items[key_of("question", outside, question.id)] = built_in(question)
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        known = by_project(everything())
        for name in by_project(changed):
            questions = values(known.get(name, {}), Question)
            questions.sort(key=lambda question: (_moment(question.at), question.id))
            questions = _once(questions, lambda question: question.id)
            self._place.store(name).change_questions(lambda _, new=questions: new, REASON)  # type: ignore[misc]


class Passages:
    """Passages of sessions. `place` is a passage's line in its section when it was first seen, and orders it."""

    prefix = "passage/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in self._place.names():
            outside = self._place.outside(name)
            store = self._place.store(outside)
            is_whole = bool(store.months())
            for path in store.months():
                if path.stem in (SHARED, TEAM):
                    continue
                try:
                    file = store.decisions(path)
                except HoldfastError as error:
                    read.problems.append(error.line())
                    is_whole = False
                    continue
                is_whole = is_whole and not file.problems
                for section in file.sections:
                    self._add(read, outside, section)
            if is_whole:
                read.whole.add(f"{key_of('passage', outside)}/")
            elif not store.months():
                read.absent.add(f"{key_of('passage', outside)}/")
        return read

    def _add(self, read: Read, name: str, section: SessionPassages) -> None:
        heading = {
            "at": section.at,
            "title": section.title,
            "branch": section.branch,
            "session": section.session,
        }
        whose = section.session or f"~{short_hash(section.title)}"
        for line, passage in enumerate(section.passages):
            read.items[key_of("passage", name, whose, passage.id)] = {
                "section": built_in_dict(heading),
                "passage": built_in(replace(passage, session="", written_id="")),
                "id": passage.id,
                "place": line,
            }

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        known = by_project(everything())
        for name in by_project(changed):
            passages: dict[str, list[tuple[int, str, Passage]]] = {}
            sections: dict[str, SessionPassages] = {}
            for key, body in known.get(name, {}).items():
                item = _value(body, _PassageBody)
                if item is None:
                    continue
                whose = parts_of(key)[2]
                section = sections.setdefault(whose, item.section)
                if (item.section.at or 0, item.section.title) > (section.at or 0, section.title):
                    sections[whose] = item.section
                written_id = item.id if item.id != item.passage.id else ""
                passage = replace(item.passage, written_id=written_id)
                passages.setdefault(whose, []).append((item.place, item.id, passage))
            self._rewrite(name, sections, passages)

    def _rewrite(
        self,
        name: str,
        sections: dict[str, SessionPassages],
        passages: dict[str, list[tuple[int, str, Passage]]],
    ) -> None:
        store = self._place.store(name)
        by_month: dict[str, list[SessionPassages]] = {
            path.stem: [] for path in store.months() if path.stem not in (SHARED, TEAM)
        }
        order = sorted(sections, key=lambda whose: (_moment(sections[whose].at), whose))
        for whose in order:
            lines = sorted(passages[whose], key=lambda item: item[:2])
            section = replace(sections[whose], passages=tuple(passage for _, _, passage in lines))
            by_month.setdefault(month_of(section.at), []).append(section)
        for month, group in by_month.items():
            path = store.decisions_folder / f"{month}.md"
            beginning = decisions_md.beginning(store.name, month)
            if not group and not files.read(path):
                continue

            def rewrite(text: str, group: list[SessionPassages] = group, beginning: str = beginning) -> str:
                kept = _own_lines(text)
                return decisions_md.with_sessions(kept or beginning, group)

            store.change(path, rewrite, REASON)


class _PassageBody(Struct):
    section: SessionPassages
    passage: Passage
    id: str
    place: int = 0


def built_in_dict(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value not in (None, "")} | {
        "session": found["session"]
    }


def _own_lines(text: str) -> str:
    """A file of decisions without our sections: its beginning, and the lines that a person wrote between them."""
    kept: list[str] = []
    under_heading = False
    for line in text.split("\n"):
        if line.startswith("## "):
            under_heading = True
        elif not under_heading or (line.strip() and not _is_passage(line)):
            kept.append(line)
    return "\n".join(kept)


def _is_passage(line: str) -> bool:
    if not line.startswith("- "):
        return False
    try:
        md.PASSAGE.parse(line[2:], {"session": ""})
    except (ValueError, OverflowError):
        return False
    return True


class State:
    """To-dos and next steps. The rest of current.md is worked out on each machine.

    A to-do that a person reworded is their own line from then on, and travels as a to-do of these words.
    """

    prefix = "state/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read, store = Read(), self._place.store("")
        try:
            file = store.current()
        except HoldfastError as error:
            read.problems.append(error.line())
            return read
        _mark(read, "state/", store.current_file, file.problems)
        for item in (*_reworded(file), *file.current.todo):
            read.items[key_of("state", "todo", item.id)] = built_in(item)
        for step in file.current.next:
            if step.by:  # a handoff; what was derived is derived again
                read.items[key_of("state", "next", step.branch, short_hash(step.text))] = built_in(step)
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        todo = {key: _value(body, OpenItem) for key, body in changed.items() if parts_of(key)[1] == "todo"}
        steps = {key: _value(body, NextStep) for key, body in changed.items() if parts_of(key)[1] == "next"}

        def merged(file: CurrentFile) -> Current:
            now = file.current
            own = {key_of("state", "todo", item.id) for item in _reworded(file)}
            new = {key: item for key, item in todo.items() if key not in own}
            todos = _merged(now.todo, new, lambda item: key_of("state", "todo", item.id))
            return replace(
                now,
                todo=tuple(sorted(todos, key=lambda item: (_moment(item.at), item.id))),
                next=_merged(
                    now.next, steps, lambda step: key_of("state", "next", step.branch, short_hash(step.text))
                ),
            )

        store = self._place.store("")
        gone = {parts_of(key)[2] for key, item in todo.items() if item is None}
        if gone & {item.id for item in _reworded(store.current())}:
            store.change(store.current_file, lambda text: close_by_hand(text, gone, str, tick=True), REASON)
        store.change_current(merged, REASON)


def _reworded(file: CurrentFile) -> list[OpenItem]:
    return [todo.item for todo in todos_by_hand(file.document) if todo.was and not todo.done]


def _merged(now: Iterable[T], changed: Mapping[str, T | None], key: Callable[[T], str]) -> tuple[T, ...]:
    kept = [changed.get(key(item), item) if key(item) in changed else item for item in now]
    known = {key(item) for item in now}
    new = [item for name, item in changed.items() if name not in known]
    return tuple(item for item in [*kept, *new] if item is not None)
