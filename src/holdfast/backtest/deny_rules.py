"""What a deny rule would have done in this project's past: the commands it would have refused, and how they ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from holdfast.backtest.reading import transcripts_of
from holdfast.core import files
from holdfast.core.git import git_text
from holdfast.flows.find_transcripts import SessionSource
from holdfast.lessons.deny_rules import RUNS_COMMANDS, DenyRule
from holdfast.model.events import ToolCall, ToolResult
from holdfast.store.machine import Machine
from holdfast.store.project import Project

LARGEST_FILE = 1 << 20
_Ended = tuple[str, bool | None]


class Refused(Struct, frozen=True, kw_only=True):
    """Commands of this project's sessions that a rule would have refused. `worked` are false blocks."""

    sessions: int
    commands: int
    refused: int = 0
    worked: int = 0
    failed: int = 0
    examples: tuple[str, ...] = ()

    @property
    def false_block_rate(self) -> float | None:
        """False blocks of all commands that worked or failed; None where there is none."""
        return self.worked / self.commands if self.commands else None


class _Once:
    """Claims of one count: what several files of a session repeat is counted once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def repeated(self, key: str) -> bool:
        if key in self._seen:
            return True
        self._seen.add(key)
        return False

    foreign = repeated


def count_refused(machine: Machine, project: Project, rules: Sequence[DenyRule]) -> Refused:
    """Reads this project's transcripts again: every command with its end, not only those that records keep."""
    sources = transcripts_of(machine, project).sources
    claims = _Once()
    commands = worked = failed = refused = sessions = 0
    examples: dict[str, None] = {}
    for source in sources:
        ended = list(_commands(source, claims))
        sessions += bool(ended)
        for command, ok in ended:
            commands += 1
            if not any(rule.denies(command) for rule in rules):
                continue
            refused += 1
            worked += ok is True
            failed += ok is False
            if ok is True and len(examples) < 3:
                examples[machine.clean(" ".join(command.split())[:120])] = None
    return Refused(
        sessions=sessions,
        commands=commands,
        refused=refused,
        worked=worked,
        failed=failed,
        examples=tuple(examples),
    )


def _commands(source: SessionSource, claims: _Once) -> Iterator[_Ended]:
    """Every command of a source that ended, and whether it worked."""
    open_calls: dict[str, str] = {}
    reading = source.importer.open(source.path, 0, b"", claims, source.glance.part)
    for event in reading.events():
        if isinstance(event, ToolCall) and event.action == "shell" and event.target:
            open_calls[event.call] = event.target
        elif isinstance(event, ToolResult) and not event.rejected:
            command = open_calls.pop(event.call, "")
            if command and event.ok is not None:
                yield command, event.ok


def files_refused(project: Project, rules: Iterable[DenyRule]) -> list[str]:
    """The tracked files that a check before a commit would stop today."""
    patterns = [re.compile(rule.pattern, re.MULTILINE) for rule in rules]
    names = [name for name in git_text(project.root, "ls-files", "-z").split("\0") if name]
    found = []
    for name in names:
        if not re.search(RUNS_COMMANDS, name):
            continue
        data = files.read(project.root / name)
        if data is None or len(data) > LARGEST_FILE:
            continue
        text = data.decode("utf-8", "replace")
        if any(pattern.search(text) for pattern in patterns):
            found.append(name)
    return found
