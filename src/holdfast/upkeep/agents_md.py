"""A short section of AGENTS.md: commands, rules and decisions that hold, and that the file does not say already.

Everything between the two marks is ours and is written again; everything else in the file is the person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import ConfigError
from holdfast.core.patterns import lazy_regex
from holdfast.core.text_diff import unified
from holdfast.lessons.proposals import same_rule
from holdfast.lessons.states import lesson_store, looked_at
from holdfast.memory.read import ProjectMemory
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.sections import decode_text, encode_text
from holdfast.upkeep.foreign_memories import imported_from
from holdfast.upkeep.rules_in_text import rules_in

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
BEGIN = "<!-- holdfast:begin (holdfast export --agents-md writes this section; your changes here will be replaced) -->"
END = "<!-- holdfast:end -->"
MOST_COMMANDS, MOST_RULES, MOST_DECISIONS = 8, 10, 10
LONGEST = 200  # characters of a line
_SECTION = lazy_regex(r"[^\S\n]*<!-- holdfast:begin .*?<!-- holdfast:end [^>]*-->\n?", re.DOTALL)


class Section(Struct, frozen=True, kw_only=True):
    """The file before and after. `lines` counts what the section says."""

    path: Path
    before: bytes | None
    after: bytes | None
    lines: int

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        return unified(self.before, self.after, self.path.name)


def section_of(machine: Machine, project: Project, given: str = "") -> Section:
    """The planned change of the named file, else of the one that the repository has."""
    path = _path(project, given)
    before = files.read(path)
    text = decode_text(before) if before is not None else ""
    rest = _SECTION.sub("", text)
    said = [rule.text for rule in rules_in(rest)]
    parts = _parts(machine, project, path, rest, said)
    count = sum(len(lines) for _, lines in parts)
    after = _with_section(text, rest, _render(parts) if count else "")
    return Section(path=path, before=before, after=encode_text(after) if after else None, lines=count)


def write_section(project: Project, planned: Section) -> None:
    """Writes it; raises Conflict where the file changed since it was read."""
    expected = files.digest(planned.before)
    files.replace(planned.path, planned.after or b"", project.lock("agents-md"), expected)


def _path(project: Project, given: str) -> Path:
    names = [given] if given else [name for name in NAMES if (project.root / name).is_file()] or [NAMES[0]]
    path = project.root / names[0]
    if not path.resolve().is_relative_to(project.root.resolve()):
        raise ConfigError(
            "leads out of the repository", where=str(path), fix="Name a file of this repository"
        )
    return path.resolve() if path.is_symlink() else path


def _parts(
    machine: Machine, project: Project, path: Path, rest: str, said: list[str]
) -> list[tuple[str, list[str]]]:
    statuses = looked_at(machine, project, lesson_store(machine, project).read()) if project.known else []
    active = [status.lesson for status in statuses if status.state == "active"]
    commands = [rule for lesson in active if lesson.kind == "command" for rule in lesson.rules]
    rules = [rule for lesson in active if lesson.kind != "command" for rule in lesson.rules]
    own = imported_from(project, path.name)
    register = sorted(ProjectMemory(project).register("decision"), key=lambda one: one.order, reverse=True)
    decisions = [
        one.text + (f" ({one.reason})" if one.reason else "")
        for one in register
        if one.status == "agreed" and one.basis == "person" and one.id not in own
    ]
    wanted = (
        ("Commands", commands, MOST_COMMANDS),
        ("Rules", rules, MOST_RULES),
        ("Decisions", decisions, MOST_DECISIONS),
    )
    return [(title, _new(lines, said, rest)[:most]) for title, lines, most in wanted]


def _new(lines: Iterable[str], said: list[str], rest: str) -> list[str]:
    """Lines that the file does not say, in its words or in others."""
    plain = _folded(rest)
    fresh: list[str] = []
    for line in (" ".join(line.split()) for line in lines):
        bare = line.partition(" (from ")[0]
        if len(line) > LONGEST or _folded(bare) in plain:
            continue
        if not any(same_rule(bare, other) for other in (*said, *fresh)):
            fresh.append(line)
    return fresh


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("`", "").replace("*", "").split()).rstrip(".")


def _render(parts: list[tuple[str, list[str]]]) -> str:
    blocks = [
        f"**{title}**\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts if lines
    ]
    return "\n\n".join([BEGIN, "## What sessions here found out", *blocks, END]) + "\n"


def _with_section(text: str, rest: str, section: str) -> str:
    """The section in its old place, else at the end; without one, the file as the person wrote it."""
    if match := _SECTION.search(text):
        if section:
            return text[: match.start()] + section + _SECTION.sub("", text[match.end() :])
        return rest.rstrip("\n") + "\n" if rest.strip() else ""
    if not section:
        return text
    return f"{text.rstrip()}\n\n{section}" if text.strip() else section
