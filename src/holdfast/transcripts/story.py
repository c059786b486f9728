"""Tells a session as a person reads it: prompts, answers, calls with their results, edits as diffs, cost by prompt.

Scenes are made while the transcript is read, so that the first screen of a long session does not wait for its end.
Every text passes the gate before it leaves this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from holdfast.model import events as ev

Clean = Callable[[str], str]

LONGEST_TEXT = 20_000  # characters of a prompt or an answer
LONGEST_TARGET = 400
LONGEST_RESULT = 600
MOST_DIFF = 60  # lines of one edit's diff
_MOST_COMPARED = 2_000  # lines of a text that is compared with another
_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text", "search")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text", "replace")
_WHOLE = ("content", "file_text", "contents", "fileText", "insert_text")
_SEVERAL = ("edits", "replacements")
_PATCHES = ("patchText", "patch", "input", "diff")


class Prompt(Struct, frozen=True, tag="prompt"):
    """What a person asked. `number` counts from 1."""

    number: int
    at: float | None
    text: str
    command: str = ""


class Answer(Struct, frozen=True, tag="answer"):
    at: float | None
    text: str


class Call(Struct, frozen=True, tag="call"):
    """A tool call, with its result once it is known. `ok` is None where the host does not say."""

    at: float | None
    tool: str
    action: ev.Action
    target: str
    ok: bool | None = None
    seconds: float | None = None
    result: str = ""  # what it said, of one that failed unless all were asked for
    exit_code: int | None = None
    rejected: bool = False


class Edit(Struct, frozen=True, tag="edit"):
    """A change of one file, as a diff where the transcript has both sides."""

    at: float | None
    path: str
    diff: tuple[str, ...] = ()
    left_out: int = 0  # lines of the diff
    ok: bool | None = None
    result: str = ""


class Note(Struct, frozen=True, tag="note"):
    """What happened besides: an interruption, a compaction, a failure of the model's service."""

    at: float | None
    text: str
    failure: bool = False


class Told(Struct, frozen=True, tag="memory"):
    """What holdfast put into the session."""

    at: float | None
    lines: tuple[str, ...]
    tokens: int = 0


class Sum(Struct, frozen=True, tag="sum"):
    """What answering one prompt took. An unknown price is None."""

    prompt: int
    seconds: float | None
    calls: int
    cost_usd: str | None
    output_tokens: int


Scene = Prompt | Answer | Call | Edit | Note | Told | Sum


class Teller:
    """Makes scenes from events. `told` are memory's lines with their times, which are put where they belong.

    With `results` a call that succeeded keeps what it answered, too.
    """

    def __init__(self, clean: Clean, told: Iterable[Told] = (), *, results: bool = False) -> None:
        self._clean = clean
        self._results = results
        self._told = sorted(told, key=lambda scene: scene.at or 0.0)
        self._open: dict[str, tuple[Call | Edit, ...]] = {}
        self._prompts = 0
        self._started: float | None = None
        self._last: float | None = None
        self._calls = 0
        self._usage: dict[str, tuple[str, ev.Usage, float | None]] = {}
        self._provider = ""
        self._cwd = ""

    def scenes(self, events: Iterable[ev.Event]) -> Iterator[Scene]:
        for event in events:
            if event.at is not None:
                while self._told and (self._told[0].at or 0.0) <= event.at and self._prompts:
                    yield self._told.pop(0)
                self._last = event.at
            yield from self._scene(event)
        for calls in self._open.values():
            yield from calls
        yield from self._told
        yield from self._sum()

    def _scene(self, event: ev.Event) -> Iterator[Scene]:
        if isinstance(event, ev.Began):
            self._provider = event.provider or self._provider
            self._cwd = self._cwd or event.cwd
        elif isinstance(event, ev.UserTurn):
            yield from self._sum()
            self._prompts += 1
            self._started = event.at
            yield Prompt(self._prompts, event.at, self._text(event.text), event.command)
        elif isinstance(event, ev.AgentTurn):
            yield Answer(event.at, self._text(event.text))
        elif isinstance(event, ev.ToolCall):
            self._calls += 1
            self._open[event.call] = tuple(self._called(event))
        elif isinstance(event, ev.ToolResult):
            for scene in self._open.pop(event.call, ()):
                yield self._ended(scene, event)
        elif isinstance(event, ev.UsageReport):
            known = self._usage.get(event.key)
            if known is None or event.usage.output >= known[1].output:
                self._usage[event.key] = (event.model, event.usage, event.cost_usd)
        elif isinstance(event, ev.Asked):
            yield Note(event.at, self._clean(f"asked: {event.question} → {event.answer or 'no answer'}"))
        elif isinstance(event, ev.Planned) and event.approved is not None:
            yield Note(event.at, "plan approved" if event.approved else "plan not approved")
        elif isinstance(event, ev.Compaction):
            yield Note(event.at, "context compacted")
        elif isinstance(event, ev.Interruption):
            yield Note(event.at, "interrupted by the user", failure=True)
        elif isinstance(event, ev.ApiFailure):
            yield Note(
                event.at,
                f"the model's service failed: {self._short(event.text, LONGEST_RESULT)}",
                failure=True,
            )

    def _called(self, event: ev.ToolCall) -> Iterator[Call | Edit]:
        if event.action != "edit" or not event.paths:
            target = event.target if event.action == "shell" else self._relative(event.target)
            yield Call(event.at, event.tool, event.action, self._short(target, LONGEST_TARGET))
            return
        for path in event.paths:
            lines = self._clean("\n".join(_diff(event, path))).expandtabs(4).split("\n")
            shown = tuple(line for line in lines[:MOST_DIFF] if line)
            yield Edit(event.at, self._clean(self._relative(path)), shown, max(len(lines) - MOST_DIFF, 0))

    def _relative(self, path: str) -> str:
        return path.removeprefix(f"{self._cwd}/") if self._cwd else path

    def _ended(self, scene: Call | Edit, result: ev.ToolResult) -> Call | Edit:
        failed = result.ok is False
        said = self._short(result.text, LONGEST_RESULT) if failed or self._results else ""
        if isinstance(scene, Edit):
            said = said if failed else ""
            return Edit(scene.at, scene.path, () if failed else scene.diff, scene.left_out, result.ok, said)
        took = result.at - scene.at if result.at is not None and scene.at is not None else None
        return Call(
            scene.at,
            scene.tool,
            scene.action,
            scene.target,
            result.ok,
            took,
            said,
            result.exit_code,
            result.rejected,
        )

    def _sum(self) -> Iterator[Sum]:
        if self._calls or self._usage:
            prices = self._prices()
            known = [price for price in prices if price is not None]
            took = (
                self._last - self._started if self._last is not None and self._started is not None else None
            )
            yield Sum(
                self._prompts,
                took,
                self._calls,
                str(sum(known, Decimal(0))) if prices and len(known) == len(prices) else None,
                sum(usage.output for _, usage, _ in self._usage.values()),
            )
        self._calls = 0
        self._usage = {}

    def _prices(self) -> list[Decimal | None]:
        from holdfast.sessions.cost import price_of  # loads much, and the first screen seldom has a sum

        return [
            price_of(model, usage, self._provider, self._last, stated)
            for model, usage, stated in self._usage.values()
        ]

    def _text(self, text: str) -> str:
        cleaned = self._clean(text).strip("\n").rstrip()
        return cleaned if len(cleaned) <= LONGEST_TEXT else f"{cleaned[:LONGEST_TEXT]} …"

    def _short(self, text: str, most: int) -> str:
        """The first lines of a text that may be long: it is cleaned before it is cut."""
        cleaned = self._clean(text[: 4 * most])
        return cleaned if len(cleaned) <= most else f"{cleaned[: most - 1]}…"


def remembered(record: ev.DistilledSession) -> Iterator[Scene]:
    """What memory keeps of a session whose transcript is gone: its prompts, its edits by name, its last words."""
    for number, prompt in enumerate(record.prompts, start=1):
        yield Prompt(number, record.started if number == 1 else None, prompt)
    for touch in record.files:
        if touch.edits:
            yield Edit(None, touch.path, ok=True)
    for kind, command in record.verified:
        yield Note(None, f"{kind} passed: {command}")
    if record.final_message:
        yield Answer(record.ended, record.final_message)


def _diff(call: ev.ToolCall, path: str) -> list[str]:
    """The change that a call makes to one file, as lines of a diff without its heading."""
    given = call.given
    if isinstance(given, str):
        return _of_patch(given, path)
    for name in _PATCHES:
        patch = given.get(name)
        if isinstance(patch, str) and "*** " in patch:
            return _of_patch(patch, path)
    pairs = list(_pairs(given))
    if pairs:
        return [line for old, new in pairs for line in _compared(old, new)]
    return [f"+{line}" for line in _value(given, _WHOLE).splitlines()]


def _pairs(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _SEVERAL:
        inner = given.get(name)
        for one in inner if isinstance(inner, list) else ():
            if isinstance(one, dict):
                yield _value(one, _OLD), _value(one, _NEW)
    if any(name in given for name in (*_OLD, *_NEW)):
        yield _value(given, _OLD), _value(given, _NEW)


def _value(given: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((text for name in names if isinstance(text := given.get(name), str)), "")


def _compared(old: str, new: str) -> list[str]:
    before, after = old.splitlines()[:_MOST_COMPARED], new.splitlines()[:_MOST_COMPARED]
    from difflib import unified_diff  # the first screen may have no edit

    lines = list(unified_diff(before, after, lineterm="", n=1))
    return [line for line in lines[2:] if not line.startswith("@@")]


def _of_patch(patch: str, path: str) -> list[str]:
    """The lines of one file in a patch of the `*** Update File:` notation."""
    lines: list[str] = []
    current = ""
    for line in patch.split("\n"):
        if line.startswith("*** "):
            _, _, named = line.partition("File: ")
            current = named.strip() or current
        elif current == path and not line.startswith("@@"):
            lines.append(line)
    return lines
