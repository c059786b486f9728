"""Counts what lessons cost and bring: for a session that ended, which were told, and what its calls then show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
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
from holdfast.lessons.notes import Payback
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


class _Everything:
    """Whoever asks may read every line: nothing is counted up here that another session has counted."""

    def repeated(self, key: str) -> bool:
        return False

    def foreign(self, key: str) -> bool:
        return False


def pay_back(machine: Machine, project: Project, session: str, transcript: SessionSource) -> None:
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


def _calls(transcript: SessionSource) -> Sequence[Call]:
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


Came = Literal["used", "contradicted", ""]


_QUOTED = lazy_regex(r"`([^`]+)`")


_GAP = lazy_regex(r"<[a-z]+>|…")


_CHANGE = lazy_regex(r"cd \S+ && ")


_ARROW = "→"


class Call(Struct, frozen=True):
    """A call as it ended: `command` of a shell, or the `paths` that were touched. `ok` is None where nobody says."""

    at: float | None
    command: str
    ok: bool | None
    output: str = ""
    paths: tuple[str, ...] = ()


def came_of(rule: str, kind: LessonKind, calls: Iterable[Call]) -> Came:
    """Of the calls after a rule was told. What speaks against it counts more than what followed it."""
    before, arrow, after = rule.partition(_ARROW)
    wanted = [_words(text) for text in _QUOTED.findall(after if arrow else rule)]
    failing = [_words(text) for text in _QUOTED.findall(before)] if arrow else []
    if kind in ("stumble", "pitfall") and not arrow:
        return ""  # "there is no `x` here": what was not done leaves no trace
    used = False
    for call in calls:
        runs = [_unquoted(part.words) for part in simple_commands(call.command)] if call.command else []
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


def _unquoted(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(unquoted(word) for word in words)


def _is_subsequence(words: Sequence[str], run: Sequence[str]) -> bool:
    """The same program with all these words in their order; others may stand between."""
    if not words or not run or words[0] != run[0]:
        return False
    rest = iter(run)
    return all(word in rest for word in words)


def _touches(words: Sequence[str], call: Call) -> bool:
    """A rule that names one file is followed by whoever reads or edits it."""
    if len(words) != 1 or "/" not in words[0] or call.ok is False:
        return False
    return any(path == words[0] or path.endswith(f"/{words[0]}") for path in call.paths)
