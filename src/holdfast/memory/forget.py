"""The memory's markdown without what is to be forgotten: each format by its own grammar, everything else as it was."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from holdfast.memory import current
from holdfast.memory import log as log_md
from holdfast.memory import reference as reference_md
from holdfast.memory.log import Block, LogFile
from holdfast.memory.reference import KeptFact, QuestionsFile, Reference, ReferenceFile
from holdfast.model.memory import content_id
from holdfast.store import line_grammar as md
from holdfast.store.removal import Removal
from holdfast.store.sections import parse

_SOURCELESS = (current.RecurringFailure, current.Check, current.FileHint)


def forget_in_current(text: str, removal: Removal, where: str = "current.md") -> str:
    def edit(item: object) -> object:
        left = removal.item(item)
        if isinstance(left, current.ActiveProject) and removal.traces(left.status):
            removal.hits += 1
            return replace(left, status="")
        told = " ".join(getattr(left, name, "") for name in ("command", "tried", "failed", "instead", "when"))
        ticked = isinstance(left, current.Done) and not left.session and removal.traces(left.text)
        if ticked or (isinstance(left, _SOURCELESS) and removal.traces(told)):
            removal.hits += 1
            return None
        return left

    return current.edit_current(text, edit, removal.prose, where)


def forget_in_style(text: str, removal: Removal, where: str = "style.md") -> str:
    document = parse(text, where)

    def edit(_part: str, line: str) -> str | None:
        said = md.decode(line.removeprefix("- "))
        if any(content_id(letter, said) in removal.ids for letter in "DFNQT"):
            removal.hits += 1
            return None
        left = removal.trace(said)
        if left == said:
            return line
        return f"- {md.encode(left)}" if left else None

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
    """Those that are left. What another session says instead is not put where it stands already."""
    there = {kept.fact.id for kept in facts if kept.fact.session not in removal.sessions}
    left: list[KeptFact] = []
    for kept in facts:
        new = _fact(kept, removal)
        if new is None or (kept.fact.session in removal.sessions and new.fact.id in there):
            continue
        left.append(new)
        there.add(new.fact.id)
    return tuple(left)


def _fact(kept: KeptFact, removal: Removal) -> KeptFact | None:
    """A fact without what is forgotten; what stood in its place before stands there again."""
    left = [fact for fact in map(removal.item, (kept.fact, *kept.was)) if fact is not None]
    if not left:
        return None
    standing = removal.with_holes(kept) if left[0].id == kept.fact.id else KeptFact(fact=left[0])
    return replace(standing, fact=left[0], was=tuple(left[1:]))


def forget_in_questions(text: str, removal: Removal, where: str = "open-questions.md") -> str:
    file = reference_md.parse_questions(text, where)
    left = removal.items(file.questions)
    if left != file.questions:
        text = reference_md.render_questions(file, left)
        file = reference_md.parse_questions(text, where)
    return _without_prose(file, removal)


def _without_prose(file: ReferenceFile | QuestionsFile, removal: Removal) -> str:
    """The file without what is to be forgotten in a person's own lines."""

    def ours(part: str) -> Collection[int]:
        return file.understood.get(part, ())

    return file.document.edited(ours, lambda _part, line: line, removal.prose)


def forget_in_log(text: str, removal: Removal, where: str = "log.md") -> str:
    """The log or an archive: a forgotten session's entries become one line, other entries lose what is forgotten."""
    log = log_md.parse_log(text, where)
    unread = {problem.line - 1 for problem in log.problems}
    buried = set(log.forgotten)
    written = [removal.prose(log.preamble)]
    for block in log.blocks:
        tail = "".join(log.lines[block.end : block.stop])
        if block.entry is None:
            written.append(_torn(log, block, removal))
        elif block.entry.session in removal.sessions:
            removal.hits += 1
            if block.entry.session not in buried:
                written.append(f"{log_md.forgotten_line(block.entry.session)}\n")
            buried.add(block.entry.session)
        else:
            written.append(_entry(log, block, removal, unread))
        written.append(removal.prose(tail))
    return "".join(written)


def _entry(log: LogFile, block: Block, removal: Removal, unread: set[int]) -> str:
    assert block.entry is not None
    left = removal.entry(block.entry)
    lines = [
        removal.prose(log.lines[number]) if number in unread else log.lines[number]
        for number in range(block.start, block.end)
    ]
    if left == block.entry:
        return "".join(lines)
    own = log_md.render_entry(left).removeprefix("\n")
    return own + "".join(
        lines[number - block.start] for number in sorted(unread) if block.start <= number < block.end
    )


def _torn(log: LogFile, block: Block, removal: Removal) -> str:
    """An entry that a crash tore names its session in the heading only, and in short."""
    heading = log.lines[block.start].rstrip("\r\n").split(" · ")
    if not any(log_md.heading_name(session) in heading[2:3] for session in removal.sessions):
        return removal.prose(log.text(block))
    removal.hits += 1
    lines = log.lines[block.start + 1 : block.stop]
    return "".join(line for line in lines if line.strip() and not line.lstrip().startswith("- "))
