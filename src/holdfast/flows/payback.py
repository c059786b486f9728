"""Measures the cost and benefit of lessons: which were injected into a session, and whether its calls followed them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Literal

from msgspec import Struct

from holdfast.briefing.explain import Injection, injections
from holdfast.briefing.lesson_lines import flat
from holdfast.core.errors import HoldfastError
from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import simple_commands, unquoted
from holdfast.core.tokens import count_tokens
from holdfast.flows.find_transcripts import SessionSource
from holdfast.guard.hidden_text import visible
from holdfast.language.failure_wording import excerpt
from holdfast.lessons.choices import Payback
from holdfast.lessons.proposals import Place
from holdfast.lessons.states import lesson_store
from holdfast.lessons.store import Shelf
from holdfast.model.events import Event, ToolCall, ToolResult
from holdfast.model.lesson import Lesson, LessonKind
from holdfast.sessions.failing_calls import slip_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_CALLS = 20_000
_SLACK_S = 2.0  # a trace has whole seconds
_QUOTED = lazy_regex(r"`([^`]+)`")
_GAP = lazy_regex(r"<[a-z]+>|…")
_CHANGE = lazy_regex(r"cd \S+ && ")


class Call(Struct, frozen=True):
    """A finished call: the shell `command`, or the `paths` that it touched. `ok` is None if the result is unknown."""

    at: float | None
    command: str
    ok: bool | None
    output: str = ""
    paths: tuple[str, ...] = ()


class _NoClaims:
    """Counting calls claims no lines, so every line may be read."""

    def repeated(self, key: str) -> bool:
        return False

    def foreign(self, key: str) -> bool:
        return False


def pay_back(machine: Machine, project: Project, session: str, transcript: SessionSource) -> None:
    """Counts the injections since the session was last counted: it may be resumed and end again."""
    store = lesson_store(machine, project)
    shelf = store.read()
    since = shelf.record.paid_until(session)
    entries = [entry for entry in injections(project) if entry.session == session and entry.time > since]
    injected = list(_lessons_told(machine, shelf, entries))
    if not injected:
        return
    calls = _calls(transcript)
    counted: dict[str, Payback] = {}
    for lesson, entry, tokens in injected:
        at = _seconds(entry.time)
        payback = counted.get(lesson.name)
        count = Payback(injected=1, tokens=tokens, last=at)
        if payback is None:  # the effect is counted once, from the first injection on
            after = [call for call in calls if at is None or call.at is None or call.at >= at - _SLACK_S]
            effects = [came_of(rule, lesson.kind, after) for rule in lesson.rules]
            is_contradicted = "contradicted" in effects
            payback = Payback(
                used=int("used" in effects and not is_contradicted), contradicted=int(is_contradicted)
            )
        counted[lesson.name] = payback.plus(count)
    until = max(entry.time for entry in entries)
    store.note(lambda record: record.count(counted, session, until))


def _lessons_told(
    machine: Machine, shelf: Shelf, told: Iterable[Injection]
) -> Iterator[tuple[Lesson, Injection, int]]:
    """Every injected line with a rule of a lesson, found by its id or its words."""
    places: tuple[Place, ...] = ("personal", "shared", "candidates", "local")
    by_name = {stored.lesson.name: stored.lesson for _, stored in shelf.lessons(*places)}
    rules = [
        (lesson, f"[{lesson.id}]", tuple(flat(visible(machine.clean(rule))) for rule in lesson.rules))
        for lesson in by_name.values()
    ]
    for entry in told:
        for line in entry.lines:
            for lesson, mark, texts in rules:
                if line.text.endswith(mark) or any(text and text in line.text for text in texts):
                    yield lesson, entry, count_tokens(line.text)
                    break


def _calls(transcript: SessionSource) -> list[Call]:
    """The finished calls of a session. An unreadable transcript has none."""
    try:
        part = transcript.glance.part
        reading = transcript.importer.open(transcript.path, 0, b"", _NoClaims(), part)
        return list(islice(_ended(reading.events()), MOST_CALLS))
    except (HoldfastError, OSError):
        return []


def _ended(events: Iterable[Event]) -> Iterator[Call]:
    open_calls: dict[str, ToolCall] = {}
    for event in events:
        if isinstance(event, ToolCall) and event.action in ("shell", "read", "edit"):
            open_calls[event.call] = event
        elif isinstance(event, ToolResult) and (call := open_calls.pop(event.call, None)):
            if event.rejected or event.own_fault:
                continue
            command = call.target if call.action == "shell" else ""
            yield Call(call.at, command, event.ok, event.text, call.paths)


def _seconds(time: str) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return None


def came_of(rule: str, kind: LessonKind, calls: Iterable[Call]) -> Literal["used", "contradicted", ""]:
    """Whether the calls after an injection followed the rule. A call against it outweighs calls that follow it."""
    before, arrow, after = rule.partition("→")
    recommended = [_words(text) for text in _QUOTED.findall(after if arrow else rule)]
    failing = [_words(text) for text in _QUOTED.findall(before)] if arrow else []
    if kind in ("stumble", "pitfall") and not arrow:
        return ""  # "there is no `x` here": a call that was not made leaves no trace
    used = False
    for call in calls:
        runs = [tuple(map(unquoted, part.words)) for part in simple_commands(call.command)]
        followed = any(
            _is_subsequence(words, run) and not _is_failing(failing, words, run)
            for words in recommended
            for run in runs
        ) or any(_touches(words, call) for words in recommended)
        if followed and call.ok is False and slip_of(call.command, excerpt(call.output), call.at):
            return "contradicted"
        if followed:
            used = True
        elif call.ok and arrow and len(runs) == 1 and runs[0] in failing:
            return "contradicted"
    return "used" if used else ""


def _words(text: str) -> tuple[str, ...]:
    """The words that identify a quoted command or path, without its placeholders."""
    return tuple(word for word in _CHANGE.sub("", text).split() if not _GAP.search(word))


def _is_subsequence(words: Sequence[str], run: Sequence[str]) -> bool:
    """Whether a call runs the same program with these words in this order; other words may come between."""
    if not words or not run or words[0] != run[0]:
        return False
    rest = iter(run)
    return all(word in rest for word in words)


def _is_failing(failing: Iterable[Sequence[str]], words: Sequence[str], run: Sequence[str]) -> bool:
    """Whether a run is the failing call, where that has all the words of the remedy and more."""
    return any(len(tried) > len(words) and _is_subsequence(tried, run) for tried in failing)


def _touches(words: Sequence[str], call: Call) -> bool:
    """Whether a call follows a rule by reading or editing the one file that the rule names."""
    if len(words) != 1 or "/" not in words[0] or call.ok is False:
        return False
    return any(path == words[0] or path.endswith(f"/{words[0]}") for path in call.paths)
