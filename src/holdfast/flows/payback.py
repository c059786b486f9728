"""Counts what lessons cost and bring: for a session that ended, which were told, and what its calls then show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from holdfast.briefing.explain import Injection, injections
from holdfast.briefing.lesson_lines import flat
from holdfast.core.errors import HoldfastError
from holdfast.core.tokens import count_tokens
from holdfast.flows.find_transcripts import Found
from holdfast.guard.hidden_text import visible
from holdfast.lessons.holding import Call, came_of
from holdfast.lessons.notes import Payback
from holdfast.lessons.states import lesson_store
from holdfast.lessons.store import Shelf
from holdfast.model.events import Event, ToolCall, ToolResult
from holdfast.model.lesson import Lesson
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_CALLS = 20_000
_SLACK_S = 2.0  # a trace has whole seconds


class _Everything:
    """Whoever asks may read every line: nothing is counted up here that another session has counted."""

    def repeated(self, key: str) -> bool:
        return False

    def foreign(self, key: str) -> bool:
        return False


def pay_back(machine: Machine, project: Project, session: str, transcript: Found) -> None:
    """Once for what was told: a session that is resumed and ends again is counted from where it was."""
    store = lesson_store(machine, project)
    shelf = store.read()
    since = shelf.record.paid_until(session)
    told = [entry for entry in injections(project) if entry.session == session and entry.time > since]
    found = list(_lessons_told(machine, shelf, told))
    if not found:
        return
    calls = list(_calls(transcript))
    counted: dict[str, Payback] = {}
    for lesson, entry, tokens in found:
        at = _seconds(entry.time)
        known = counted.get(lesson.name)
        new = Payback(injected=1, tokens=tokens, last=at)
        if known is None:  # what came of it is counted once, from the first time on
            after = [call for call in calls if at is None or call.at is None or call.at >= at - _SLACK_S]
            came = [came_of(rule, lesson.kind, after) for rule in lesson.rules]
            new = Payback(
                injected=1,
                tokens=tokens,
                last=at,
                used=int("used" in came and "contradicted" not in came),
                contradicted=int("contradicted" in came),
            )
        counted[lesson.name] = new if known is None else known.plus(new)
    store.count(counted, session, max(entry.time for entry in told))


def _lessons_told(
    machine: Machine, shelf: Shelf, told: Iterable[Injection]
) -> Iterator[tuple[Lesson, Injection, int]]:
    """Every line that says a rule of a lesson, by its id or in its words."""
    places = (shelf.personal, shelf.shared, shelf.candidates, shelf.local)
    by_name = {found.lesson.name: found.lesson for place in places for found in place.lessons}
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


def _calls(transcript: Found) -> Sequence[Call]:
    """How each call of a session ended. A transcript that cannot be read shows nothing."""
    try:
        part = transcript.glance.part
        reading = transcript.importer.open(transcript.path, 0, b"", _Everything(), part)
        return list(_ended(reading.events()))
    except (HoldfastError, OSError):
        return ()


def _ended(events: Iterable[Event]) -> Iterator[Call]:
    open_calls: dict[str, ToolCall] = {}
    count = 0
    for event in events:
        if isinstance(event, ToolCall) and event.action in ("shell", "read", "edit"):
            open_calls[event.call] = event
        elif isinstance(event, ToolResult) and (call := open_calls.pop(event.call, None)):
            if event.rejected or event.own_fault:
                continue
            command = call.target if call.action == "shell" else ""
            yield Call(call.at, command, event.ok, event.text, call.paths)
            count += 1
            if count >= MOST_CALLS:
                return


def _seconds(time: str) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return None
