"""Knowledge as markdown for a system prompt: the most useful first, whole items only, and what was left out is said."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from holdfast.model.knowledge import Convention, FileNote, Items, LearnedFact, Pattern, usefulness

TITLE = "## Project Knowledge"
SECTIONS = ("Conventions", "Patterns", "Facts", "Files")
_SHORT_SESSION = 12
_LONGEST_FILES = 20  # more notes on files than a prompt can use
_EVERY = {
    "Conventions": 3,
    "Facts": 2,
    "Patterns": 1,
    "Files": 1,
}  # how sections take turns when room is scarce


class Line(Struct, frozen=True):
    section: str
    text: str


def render(items: Items, most: int | None = None) -> str:
    """At most so many characters, the last line break included; all of it when no bound is given."""
    lines = list(_lines(items))
    if most is None:
        return _written(lines, {})
    chosen: list[Line] = []
    for line in lines:
        if len(_written([*chosen, line], _left_out(items, [*chosen, line]))) <= most:
            chosen.append(line)
    text = _written(chosen, _left_out(items, chosen))
    return text if len(text) <= most else ""


def _lines(items: Items) -> Iterator[Line]:
    """All items, the sections taking turns: with little room each has its best."""
    facts = sorted(items.facts, key=lambda fact: (-fact.confidence, -fact.confirmed))
    patterns = sorted(items.patterns, key=lambda pattern: (-pattern.confidence, pattern.name))
    notes = sorted(items.files, key=lambda note: (not note.is_hot, -note.changes, -note.complexity))[
        :_LONGEST_FILES
    ]
    waiting = {
        "Conventions": [convention_line(one) for one in sorted(items.conventions, key=usefulness)],
        "Facts": [fact_line(one) for one in facts],
        "Patterns": [pattern_line(one) for one in patterns],
        "Files": [file_line(one) for one in notes if one.is_hot or one.complexity],
    }
    while any(waiting.values()):
        for section, turns in _EVERY.items():
            for text in waiting[section][:turns]:
                yield Line(section, text)
            del waiting[section][:turns]


def _left_out(items: Items, chosen: list[Line]) -> dict[str, int]:
    counts = {
        "Conventions": len(items.conventions),
        "Patterns": len(items.patterns),
        "Facts": len(items.facts),
    }
    counts["Files"] = min(len(items.files), _LONGEST_FILES)
    for line in chosen:
        counts[line.section] -= 1
    return {section: count for section, count in counts.items() if count > 0}


def _written(lines: list[Line], left_out: dict[str, int]) -> str:
    parts = [TITLE]
    for section in SECTIONS:
        own = [line.text for line in lines if line.section == section]
        if own:
            parts += [f"### {section}", *own]
    if left_out:
        told = ", ".join(
            f"{count} {section.lower() if count != 1 else section.lower()[:-1]}"
            for section, count in left_out.items()
        )
        parts.append(f"(left out: {told})")
    elif not lines:
        parts.append("(nothing known yet)")
    return "\n".join(parts) + "\n"


def convention_line(one: Convention) -> str:
    scope = f" ({one.scope})" if one.scope else ""
    sure = f"confidence: {one.confidence:.2f}"
    files = len({evidence.path for evidence in one.evidence})
    if one.counter:
        sure += f", {one.count:,} of {one.count + one.counter:,}"
    elif files:
        sure += f", {_files(files)}"
    return f"- {title(one.category)}{scope}: {_flat(one.pattern)} ({sure})"


def pattern_line(one: Pattern) -> str:
    name = one.name[:1].upper() + one.name[1:]
    shown = _files(one.count or len(one.files))
    return f"- {_flat(name)}: {_flat(one.description)} ({shown}, confidence: {one.confidence:.2f})"


def _files(count: int) -> str:
    return f"{count:,} file{'s' * (count != 1)}"


def fact_line(one: LearnedFact) -> str:
    session = f" (session {one.session[:_SHORT_SESSION]})" if one.session else ""
    return f"- [{one.category}] {_flat(one.statement)}{session}"


def file_line(one: FileNote) -> str:
    words = [one.language, "test" if one.is_test else "", f"complexity {one.complexity}"]
    words.append(f"hot, {one.changes} changes" if one.is_hot else "")
    beside = f"; changes with {', '.join(one.neighbours[:2])}" if one.neighbours else ""
    return f"- {one.path} ({', '.join(filter(None, words))}{beside})"


def title(category: str) -> str:
    words = category.replace("_", " ")
    return words[:1].upper() + words[1:]


def _flat(text: str) -> str:
    return " ".join(text.split())
