"""What other memories say of this project: agents' own notes, rules files, basic-memory and claude-mem.

A person sees every line before it is kept. What a host reads by itself is never injected into that host: the list of
what was taken (`imported.json`) names the hosts that read its source.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.agent_kit.loose import object_in, record
from holdfast.agent_kit.sqlite_source import is_sqlite, opened
from holdfast.core import files
from holdfast.core.errors import HoldfastError, TranscriptError
from holdfast.core.patterns import lazy_regex
from holdfast.core.reading import beginning_of
from holdfast.flows.questions import decide
from holdfast.hooks.own_reading import FILE
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import content_id
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.upkeep.audited_files import AuditedFile, audited_files
from holdfast.upkeep.rules_in_text import StatedRule, rules_in

SHORTEST, LONGEST = 15, 300  # characters of a line
MOST_OF_SOURCE = 60
_ADDED = ("gemini added memories", "qwen added memories")
# `- [category] text #tag (context)`, as basic-memory writes an observation; a box to tick is none.
_OBSERVATION = lazy_regex(r"[-*] \[([A-Za-z][\w -]{1,30})\] (\S.*)")
_NEGATED = lazy_regex(
    r"(?i)\b(?:avoid|never|not|don['’]?t|do not|forbidden|prohibited|banned|wrong|bad|anti-?patterns?|mistakes?)\b"
)
_TAGS = lazy_regex(r"(?:\s+#[\w/-]+)+(?=\s*(?:\(|$))")
# Which hosts read a file of this name by themselves, as their documentation says.
_READERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"AGENTS(\.override)?\.md", ("codex", "copilot", "cursor", "grok", "opencode", "qwen")),
    (r"CLAUDE(\.local)?\.md|\.claude/.*", ("claude-code", "copilot", "cursor", "grok", "opencode")),
    (r"GEMINI\.md", ("gemini", "copilot")),
    (r"QWEN\.md", ("qwen",)),
    (r"\.github/.*", ("copilot",)),
    (r"\.cursorrules|\.cursor/.*", ("cursor",)),
    (r"~/\.claude/.*", ("claude-code",)),
    (r"~/\.codex/.*", ("codex",)),
    (r"~/\.gemini/.*", ("gemini",)),
    (r"~/\.qwen/.*", ("qwen",)),
)


class ForeignLine(Struct, frozen=True):
    """A line of another memory. `source` is its file as people write it, `readers` the hosts that read that."""

    text: str
    source: str
    readers: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return content_id("D", self.text)


class _Taken(Struct, frozen=True):
    source: str = ""
    readers: tuple[str, ...] = ()


class _Imported(Struct):
    """What was taken, by the id of its decision, and the lines that a person did not want."""

    format: int = 1
    lines: dict[str, _Taken] = {}
    declined: list[str] = []


def foreign_lines(machine: Machine, project: Project) -> list[ForeignLine]:
    """Every line that is not known yet and was not declined, each once, in the order of the sources."""
    known = {statement.id for statement in ProjectMemory(project).register("fact", "decision")}
    known |= {*_imported(project).declined, *_imported(project).lines}
    found: dict[str, ForeignLine] = {}
    for line in _all(machine, project):
        if SHORTEST <= len(line.text) <= LONGEST and line.id not in known:
            first = found.get(line.id, line)
            # CLAUDE.md and AGENTS.md often say the same: the readers of both have it.
            found[line.id] = ForeignLine(
                line.text, first.source, tuple(sorted({*first.readers, *line.readers}))
            )
    return list(found.values())


def keep_lines(machine: Machine, project: Project, lines: Iterable[ForeignLine]) -> list[str]:
    """Keeps lines that a person agreed to as decisions with their source, and returns the problems."""
    problems: list[str] = []
    taken: dict[str, _Taken] = {}
    for line in lines:
        try:
            done = decide(machine, line.text, f"from {line.source}", by="user")
        except HoldfastError as error:
            problems.append(error.line())
            continue
        if done.status == "recorded":  # what was known already is the person's own, and any host may hear it
            taken[done.decision.id] = _Taken(line.source, line.readers)
    imported = _imported(project)
    _write(project, _Imported(lines=imported.lines | taken, declined=imported.declined))
    return problems


def decline_lines(project: Project, lines: Iterable[ForeignLine]) -> None:
    """Remembers what was not wanted, so that it is not shown again."""
    imported = _imported(project)
    declined = dict.fromkeys([*imported.declined, *(line.id for line in lines)])
    _write(project, _Imported(lines=imported.lines, declined=list(declined)))


def _imported(project: Project) -> _Imported:
    path = project.memory / FILE
    return decode_json(
        files.read(path), _Imported, path, "Remove it: what was imported stays, and will be shown again"
    )


def _write(project: Project, imported: _Imported) -> None:
    project.prepare()
    files.replace(project.memory / FILE, encode_json(imported), project.lock("imported"), files.ANYTHING)


def _all(machine: Machine, project: Project) -> Iterator[ForeignLine]:
    texts = [one for one in audited_files(machine, project) if one.area in ("guide", "agent", "personal")]
    for file in texts:
        if not file.nested:
            yield from _of_file(file, _readers(file, texts))
    yield from _basic_memory(machine, project)
    yield from _claude_mem(machine, project)


def _of_file(file: AuditedFile, readers: tuple[str, ...]) -> Iterator[ForeignLine]:
    wanted = (rule for rule in rules_in(file.text) if rule.is_rule and _is_wanted(rule, file))
    for _, rule in zip(range(MOST_OF_SOURCE), wanted, strict=False):
        yield ForeignLine(_plain(rule.text), file.shown, readers)


def _is_wanted(rule: StatedRule, file: AuditedFile) -> bool:
    """Rules of a guide, and all of an agent's own notes; of a personal file only what the agent added there."""
    if file.area == "personal":
        return any(name.strip("# ").casefold() in _ADDED for name in rule.under)
    if rule.leads or rule.text.startswith((">", "_")) or any(map(_NEGATED.search, rule.under)):
        return False  # "Avoid:" above a line turns its sense around, and does not come with it
    return file.area == "agent" or (rule.prescribes and not rule.numbered)


def _readers(file: AuditedFile, others: Iterable[AuditedFile]) -> tuple[str, ...]:
    """The hosts that read the file under its name, or because a file that they read imports it."""
    found = set(_readers_of(file.shown))
    for other in others:
        if other is not file and re.search(rf"@(?:\./)?{re.escape(file.shown)}\b", other.text):
            found.update(_readers_of(other.shown))
    return tuple(sorted(found))


def _readers_of(shown: str) -> tuple[str, ...]:
    return next((hosts for name, hosts in _READERS if re.fullmatch(name, shown)), ())


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").split())


def _basic_memory(machine: Machine, project: Project) -> Iterator[ForeignLine]:
    """Observations of the notes whose project is this repository's: by its name, or because they lie in it."""
    config = machine.user_home / ".basic-memory" / "config.json"
    listed = record(object_in(_beginning(config)), "projects")
    for name, place in sorted(listed.items()):
        given = place if isinstance(place, str) else record(place).get("path")
        folder = Path(os.path.expanduser(given)) if isinstance(given, str) and given else None
        if folder is None or not (name == project.root.name or folder.is_relative_to(project.root)):
            continue
        for path in sorted(folder.rglob("*.md"))[:MOST_OF_SOURCE]:
            text = _beginning(path).decode("utf-8", "replace")
            for line in text.splitlines():
                if match := _OBSERVATION.match(line.strip()):
                    shown = f"basic-memory {path.relative_to(folder).as_posix()}"
                    yield ForeignLine(_plain(_TAGS.sub("", match[2])), shown)


def _claude_mem(machine: Machine, project: Project) -> Iterator[ForeignLine]:
    """Decisions by their titles, and the facts of discoveries. claude-mem injects both into Claude Code itself."""
    path = machine.user_home / ".claude-mem" / "claude-mem.db"
    if not is_sqlite(_beginning(path, 16)):
        return
    try:
        with opened(path) as database:
            rows = database.rows(
                "SELECT type, title, facts FROM observations WHERE project = ? AND type IN ('decision', 'discovery') "
                "ORDER BY created_at_epoch DESC LIMIT ?",
                project.root.name,
                MOST_OF_SOURCE,
            )
    except TranscriptError:
        return
    for row in rows:
        facts = object_in(f'{{"facts":{row["facts"] or "[]"}}}').get("facts")
        texts = [row["title"]] if row["type"] == "decision" else facts if isinstance(facts, list) else []
        for text in texts:
            if isinstance(text, str):
                yield ForeignLine(_plain(text), "claude-mem", ("claude-code",))


def _beginning(path: Path, most: int = 2_000_000) -> bytes:
    found = beginning_of(str(path), most)
    return found[0] if found is not None else b""


def imported_from(project: Project, name: str) -> set[str]:
    """The ids of what was taken from a file of this name: it need not be told that again."""
    return {id for id, taken in _imported(project).lines.items() if taken.source.rpartition("/")[2] == name}
