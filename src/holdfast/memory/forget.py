"""Removes forgotten items from the memory's markdown, each format by its own grammar; all else stays unchanged."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from holdfast.memory import current
from holdfast.memory import decisions as decisions_md
from holdfast.memory import log as log_md
from holdfast.memory import reference as reference_md
from holdfast.memory.log import Block, LogFile
from holdfast.memory.reference import KeptFact, QuestionsFile, Reference, ReferenceFile
from holdfast.model.memory import Passage, content_id
from holdfast.store import line_grammar as md
from holdfast.store.removal import Removal
from holdfast.store.sections import parse

_SOURCELESS = (current.RecurringFailure, current.Check, current.FileHint)


def forget_in_current(text: str, removal: Removal, where: str = "current.md") -> str:
    def edit(item: object) -> object:
        edited = removal.item(item)
        if isinstance(item, current.ClosedTodo) and not isinstance(edited, current.ClosedTodo):
            return None  # the to-do of another session, which is open or has a line of its own
        if isinstance(edited, current.ActiveProject) and removal.traces(edited.status):
            removal.hits += 1
            return replace(edited, status="")
        texts = " ".join(
            getattr(edited, name, "") for name in ("command", "tried", "failed", "instead", "when")
        )
        ended = isinstance(edited, current.Done | current.ClosedTodo)
        ticked = ended and not edited.session and removal.traces(edited.text)
        if ticked or (isinstance(edited, _SOURCELESS) and removal.traces(texts)):
            removal.hits += 1
            return None
        return edited

    return current.edit_current(text, edit, removal.prose, where)


def forget_in_style(text: str, removal: Removal, where: str = "style.md") -> str:
    document = parse(text, where)

    def edit(_part: str, line: str) -> str | None:
        rule = md.decode(line.removeprefix("- "))
        if any(content_id(letter, rule) in removal.ids for letter in "DFNQT"):
            removal.hits += 1
            return None
        edited = removal.trace(rule)
        if edited == rule:
            return line
        return f"- {md.encode(edited)}" if edited else None

    ours = {reference_md.PROPOSED: document.ours(reference_md.PROPOSED)}
    return document.edited(lambda part: ours.get(part, ()), edit, removal.prose)


def forget_in_reference(text: str, removal: Removal, where: str = "reference.md") -> str:
    file = reference_md.parse_reference(text, where)
    facts = _facts(file.reference.facts, removal)
    reference = Reference(facts=facts, decisions=removal.items(file.reference.decisions))
    if reference != file.reference:
        text = reference_md.render_reference(file, reference)
        file = reference_md.parse_reference(text, where)
    return _without_prose(file, removal)


def _facts(facts: tuple[KeptFact, ...], removal: Removal) -> tuple[KeptFact, ...]:
    """The remaining facts. A replacement from another session is not added if it is already there."""
    ids = {known_fact.fact.id for known_fact in facts if known_fact.fact.session not in removal.sessions}
    remaining: list[KeptFact] = []
    for known_fact in facts:
        edited = _fact(known_fact, removal)
        if edited is None or (known_fact.fact.session in removal.sessions and edited.fact.id in ids):
            continue
        remaining.append(edited)
        ids.add(edited.fact.id)
    return tuple(remaining)


def _fact(kept: KeptFact, removal: Removal) -> KeptFact | None:
    """A fact without forgotten items; if the fact itself is forgotten, the one before it takes its place."""
    remaining = [fact for fact in map(removal.item, (kept.fact, *kept.was)) if fact is not None]
    if not remaining:
        return None
    current_fact = (
        removal.with_holes(kept) if remaining[0].id == kept.fact.id else KeptFact(fact=remaining[0])
    )
    return replace(current_fact, fact=remaining[0], was=tuple(remaining[1:]))


def forget_in_questions(text: str, removal: Removal, where: str = "open-questions.md") -> str:
    file = reference_md.parse_questions(text, where)
    remaining = removal.items(file.questions)
    if remaining != file.questions:
        text = reference_md.render_questions(file, remaining)
        file = reference_md.parse_questions(text, where)
    return _without_prose(file, removal)


def forget_in_decisions(text: str, removal: Removal, where: str = "decisions.md") -> str:
    """Forgotten passages, and those of forgotten sessions, go as a whole: a hole would change what they say."""

    def edit(passage: Passage) -> Passage | None:
        is_listed = passage.id in removal.ids or passage.session in removal.sessions
        if is_listed or removal.phrases.found_in(passage.text):
            removal.hits += 1
            return None
        return replace(passage, question=removal.text(passage.question))

    def edit_title(session: str, title: str) -> str | None:
        return None if session in removal.sessions else removal.text(title)

    return decisions_md.edit_passages(text, edit, edit_title, removal.prose)


def _without_prose(file: ReferenceFile | QuestionsFile, removal: Removal) -> str:
    """The file without forgotten texts in a person's own lines."""

    def ours(part: str) -> Collection[int]:
        return file.understood.get(part, ())

    return file.document.edited(ours, lambda _part, line: line, removal.prose)


def forget_in_log(text: str, removal: Removal, where: str = "log.md") -> str:
    """The log or an archive: a forgotten session's entries become one line, other entries lose forgotten items."""
    log = log_md.parse_log(text, where)
    unread = {problem.line - 1 for problem in log.problems}
    buried = set(log.forgotten)
    pieces = [removal.prose(log.preamble)]
    for block in log.blocks:
        tail = "".join(log.lines[block.end : block.stop])
        if block.entry is None:
            pieces.append(_torn(log, block, removal))
        elif block.entry.session in removal.sessions:
            removal.hits += 1
            if block.entry.session not in buried:
                pieces.append(f"{log_md.forgotten_line(block.entry.session)}\n")
            buried.add(block.entry.session)
        else:
            pieces.append(_entry(log, block, removal, unread))
        pieces.append(removal.prose(tail))
    return "".join(pieces)


def _entry(log: LogFile, block: Block, removal: Removal, unread: set[int]) -> str:
    assert block.entry is not None
    edited = removal.entry(block.entry)
    lines = [
        removal.prose(log.lines[number]) if number in unread else log.lines[number]
        for number in range(block.start, block.end)
    ]
    if edited == block.entry:
        return "".join(lines)
    rendered = log_md.render_entry(edited).removeprefix("\n")
    return rendered + "".join(
        lines[number - block.start] for number in sorted(unread) if block.start <= number < block.end
    )


def _torn(log: LogFile, block: Block, removal: Removal) -> str:
    """A torn entry has its session only in the heading, in short form."""
    heading = log.lines[block.start].rstrip("\r\n").split(" · ")
    if not any(log_md.heading_name(session) in heading[2:3] for session in removal.sessions):
        return removal.prose(log.text(block))
    removal.hits += 1
    lines = log.lines[block.start + 1 : block.stop]
    return "".join(line for line in lines if line.strip() and not line.lstrip().startswith("- "))
