"""Collects the edits of one transcript, each with its time, the prompt before it, and what it wrote as hashes.

An edit counts once its call has succeeded. Where an agent records no results at all, every call counts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from msgspec import Struct

from holdfast.model.events import AgentTurn, Began, Event, ToolCall, ToolResult, UserTurn
from holdfast.provenance.line_hashes import fragment_hash, hash_of, squeezed
from holdfast.provenance.written import Writing, writings

LONGEST_PROMPT = 400


class Prompt(Struct, frozen=True):
    number: int
    at: float
    text: str


class Edit(Struct, frozen=True, gc=False):
    """What one call wrote into one file. `prompt` is the number of the request before it, 0 for none.

    `path` is absolute where the directory is known; `lines` are hashes of whole lines in order, `parts` the number of
    tokens and the hash of each text that may be a part of a line.
    """

    at: float
    prompt: int
    path: str
    cwd: str
    lines: tuple[int, ...]
    parts: tuple[int, ...] = ()
    whole: bool = False


class TranscriptEdits(Struct):
    """The edits and the prompts of one transcript. `parent` names the session whose subagent wrote it."""

    session: str = ""
    parent: str = ""
    agent: str = ""
    started: float = 0.0
    prompts: list[Prompt] = []
    edits: list[Edit] = []


class EditCollector:
    def __init__(self, agent: str) -> None:
        self.found = TranscriptEdits(agent=agent)
        self._cwd = ""
        self._said = ""
        self._last_at = 0.0
        self._open: dict[str, tuple[ToolCall, list[Writing], int]] = {}
        self._any_result = False

    def take_all(self, events: Iterable[Event]) -> TranscriptEdits:
        for event in events:
            self.take(event)
        return self.finish()

    def take(self, event: Event) -> None:
        kind = type(event)
        if kind is ToolCall:
            self._called(event)  # type: ignore[arg-type]
        elif kind is ToolResult:
            self._ended(event)  # type: ignore[arg-type]
        elif kind is UserTurn:
            self._asked(event)  # type: ignore[arg-type]
        elif kind is AgentTurn:
            self._said = event.text  # type: ignore[union-attr]
        elif kind is Began:
            self._began(event)  # type: ignore[arg-type]

    def finish(self) -> TranscriptEdits:
        """Settle calls without a result: they count only where the agent records no results."""
        if not self._any_result:
            for call, written, prompt in self._open.values():
                self._keep(call.at or self._last_at, written, prompt)
        self._open.clear()
        return self.found

    def _began(self, event: Began) -> None:
        found = self.found
        found.session = found.session or event.session
        found.parent = found.parent or event.parent
        found.agent = event.agent or found.agent
        found.started = found.started or event.at or 0.0
        self._cwd = event.cwd or self._cwd

    def _prompt_at(self, at: float) -> int:
        """The number of the last request before a time: lines of progress come after all others."""
        return next((prompt.number for prompt in reversed(self.found.prompts) if prompt.at <= at), 0)

    def _asked(self, event: UserTurn) -> None:
        if event.feedback:
            return
        text = " ".join(filter(None, (event.command, event.text))).strip()
        number = len(self.found.prompts) + 1
        self.found.prompts.append(Prompt(number, event.at or self._last_at, text))

    def _called(self, call: ToolCall) -> None:
        self._last_at = call.at or self._last_at
        if call.action not in ("edit", "shell"):
            return
        if written := writings(call, self._said):
            prompt = len(self.found.prompts) if call.at is None else self._prompt_at(call.at)
            self._open[call.call] = (call, written, prompt)

    def _ended(self, result: ToolResult) -> None:
        self._any_result = True
        self._last_at = result.at or self._last_at
        opened = self._open.pop(result.call, None)
        if opened is None or result.ok is False or result.rejected or result.own_fault:
            return
        call, written, prompt = opened
        self._keep(result.at or call.at or self._last_at, written, prompt)

    def _keep(self, at: float, written: Iterable[Writing], prompt: int) -> None:
        for writing in written:
            lines = tuple(hash_of(squeezed(line)) for line in writing.lines)
            parts: list[int] = []
            for text in writing.parts:
                if (hashed := fragment_hash(text)) is not None:
                    parts += hashed
            if lines or parts:
                path = absolute(writing.path, self._cwd)
                self.found.edits.append(Edit(at, prompt, path, self._cwd, lines, tuple(parts), writing.whole))


def absolute(path: str, cwd: str) -> str:
    """A path with slashes and without detours, from the directory of the session where it is relative."""
    path, cwd = path.replace("\\", "/"), cwd.replace("\\", "/")
    if not path.startswith("/") and not re.match("[A-Za-z]:/", path) and cwd:
        path = f"{cwd.rstrip('/')}/{path}"
    return posixpath.normpath(path)
