"""Counts what lessons cost and bring: which a session was shown, and what its calls then show of them."""

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
from holdfast.lessons.choices import Payback
from holdfast.lessons.proposals import Place
from holdfast.lessons.states import lesson_store
from holdfast.lessons.store import Shelf
from holdfast.model.events import Event, ToolCall, ToolResult
from holdfast.model.lesson import Lesson, LessonKind
from holdfast.sessions.failing_calls import slip_of
from holdfast.sessions.failure_wording import excerpt
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_CALLS = 20_000
_SLACK_S = 2.0  # a trace has whole seconds
_QUOTED = lazy_regex(r"`([^`]+)`")
_GAP = lazy_regex(r"<[a-z]+>|…")
_CHANGE = lazy_regex(r"cd \S+ && ")


class Call(Struct, frozen=True):
    """A call as it ended: `command` of a shell, or the `paths` that it touched. `ok` is None where it is unknown."""

    at: float | None
    command: str
    ok: bool | None
    output: str = ""
    paths: tuple[str, ...] = ()


class _NoClaims:
    """Every line may be read: counting calls claims no lines."""

    def repeated(self, key: str) -> bool:
        return False

    def foreign(self, key: str) -> bool:
        return False


def pay_back(machine: Machine, project: Project, session: str, transcript: SessionSource) -> None:
    """Counts what was injected since the session was last counted: it may be resumed and end again."""
    store = lesson_store(machine, project)
    shelf = store.read()
    since = shelf.record.paid_until(session)
    told = [entry for entry in injections(project) if entry.session == session and entry.time > since]
    found = list(_lessons_told(machine, shelf, told))
    if not found:
        return
    calls = _calls(transcript)
    counted: dict[str, Payback] = {}
    for lesson, entry, tokens in found:
        at = _seconds(entry.time)
        known = counted.get(lesson.name)
        new = Payback(injected=1, tokens=tokens, last=at)
        if known is None:  # what came of it is counted once, from the first time on
            after = [call for call in calls if at is None or call.at is None or call.at >= at - _SLACK_S]
            came = [came_of(rule, lesson.kind, after) for rule in lesson.rules]
            against = "contradicted" in came
            known = Payback(used=int("used" in came and not against), contradicted=int(against))
        counted[lesson.name] = known.plus(new)
    until = max(entry.time for entry in told)
    store.note(lambda record: record.count(counted, session, until))


def _lessons_told(
    machine: Machine, shelf: Shelf, told: Iterable[Injection]
) -> Iterator[tuple[Lesson, Injection, int]]:
    """Every line that says a rule of a lesson, by its id or in its words."""
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
    """How each call of a session ended. An unreadable transcript shows nothing."""
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
    """What the calls after a rule was injected show of it. A call against it counts more than calls that follow it."""
    before, arrow, after = rule.partition("→")
    wanted = [_words(text) for text in _QUOTED.findall(after if arrow else rule)]
    failing = [_words(text) for text in _QUOTED.findall(before)] if arrow else []
    if kind in ("stumble", "pitfall") and not arrow:
        return ""  # "there is no `x` here": what was not done leaves no trace
    used = False
    for call in calls:
        runs = [tuple(map(unquoted, part.words)) for part in simple_commands(call.command)]
        followed = any(_is_subsequence(words, run) for words in wanted for run in runs) or any(
            _touches(words, call) for words in wanted
        )
        if followed and call.ok is False and slip_of(call.command, excerpt(call.output), call.at):
            return "contradicted"
        if followed:
            used = True
        elif call.ok and arrow and len(runs) == 1 and runs[0] in failing:
            return "contradicted"
    return "used" if used else ""


def _words(text: str) -> tuple[str, ...]:
    """The words by which a quoted command or path is known again, whatever stands in its gaps."""
    return tuple(word for word in _CHANGE.sub("", text).split() if not _GAP.search(word))


def _is_subsequence(words: Sequence[str], run: Sequence[str]) -> bool:
    """The same program with all these words in their order; others may stand between."""
    if not words or not run or words[0] != run[0]:
        return False
    rest = iter(run)
    return all(word in rest for word in words)


def _touches(words: Sequence[str], call: Call) -> bool:
    """Reading or editing the one file that a rule names follows the rule."""
    if len(words) != 1 or "/" not in words[0] or call.ok is False:
        return False
    return any(path == words[0] or path.endswith(f"/{words[0]}") for path in call.paths)
