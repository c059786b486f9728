"""Extracts lessons with a model, if one is configured: after the rules have run, metered, as candidates only.

A failure is reported in one line, and the lessons that the rules found are kept. Nothing here runs in a hook, and no
lock is held during a call to the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from decimal import Decimal
from secrets import choice

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.explain import why_silent
from holdfast.core.errors import HoldfastError, ModelError, NotFound, UsageError
from holdfast.core.tokens import count_tokens
from holdfast.extraction.model_calls import CallNames, Meter, label_of, seconds_of, target_of
from holdfast.extraction.model_wire import Question
from holdfast.ledger.rows import find_row, read_ledger, record_of, rows
from holdfast.lessons.extraction import (
    INSTRUCTIONS,
    MOST_OUTPUT,
    Extracted,
    Material,
    extracted,
    material,
    says_the_same,
    worth_asking,
)
from holdfast.lessons.states import lesson_store, propose
from holdfast.model.events import DistilledSession
from holdfast.model.lesson import Lesson
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.settings import Settings

GOAL = ("lesson", "extraction")
MOST_SESSIONS = 3  # per capture: if many sessions have ended, only the latest ones are sent
_CALLS = CallNames("x")
_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Sent(Struct, frozen=True):
    """What would be sent, and where."""

    session: str
    to: str
    model: str
    instructions: str
    text: str
    tokens: int


class Extraction(Struct, frozen=True):
    """The result of a call: names of new candidates, the number already known or rejected, and dropped ones."""

    session: str
    added: tuple[str, ...] = ()
    known: int = 0
    dropped: tuple[str, ...] = ()
    cost_usd: Decimal | None = None


def extract_ended(machine: Machine, project: Project, sessions: Iterable[str], seconds: float) -> list[str]:
    """Asks about sessions that have just ended, within the time left. Returns a line for each problem."""
    settings = machine.settings()
    if settings.extractor == "none" or why_silent(machine, project, project.root):
        return []
    problems: list[str] = []
    end = time.monotonic() + seconds
    for session in list(dict.fromkeys(sessions))[-MOST_SESSIONS:]:
        record = record_of(project, session)
        if record is None or record.headless or not worth_asking(record):
            continue
        if _CALLS.was_sent(project, record) or time.monotonic() + seconds_of(settings) > end:
            continue
        try:
            extraction = _extract(machine, project, settings, record)
            problems += [f"extractor: {line}" for line in extraction.dropped]
        except HoldfastError as error:
            problems.append(f"extractor: {error.line()}")
    return problems


def extract(machine: Machine, project: Project, session: str = "") -> Extraction:
    """Asks about one session on request: the latest, or one given by the start of its id."""
    return _extract(machine, project, _configured(machine), chosen(project, session))


def preview(machine: Machine, project: Project, session: str = "") -> Sent:
    """What would be sent about a session. Sends nothing."""
    settings = machine.settings()
    record = chosen(project, session)
    text = _material(machine, record).prompt(_fence())
    try:
        to = target_of(machine, settings) if settings.extractor != "none" else "nowhere: extractor is none"
    except ModelError as error:
        to = f"nowhere: {error.line()}"
    model = settings.extractor_model
    return Sent(
        record.session, to, model, INSTRUCTIONS, text, count_tokens(INSTRUCTIONS) + count_tokens(text)
    )


def chosen(project: Project, session: str) -> DistilledSession:
    if session:
        record = record_of(project, find_row(rows(read_ledger(project)), session).session)
    else:
        latest: list[DistilledSession] = []
        latest = CaptureStore.glimpse(project.capture, lambda store: store.records(1), latest)
        record = latest[0] if latest else None
    if record is None:
        problem = f"nothing is stored about session {session!r}" if session else "no session is known here"
        raise NotFound(problem, fix="holdfast import reads what your agents recorded")
    return record


def _configured(machine: Machine) -> Settings:
    settings = machine.settings()
    if settings.extractor == "none":
        raise UsageError(
            "no extractor is configured",
            fix=f"Set extractor in {machine.home / 'config.toml'}; --dry-run shows what would be sent",
        )
    return settings


# --- asking --------------------------------------------------------------------------------------------


def _extract(machine: Machine, project: Project, settings: Settings, record: DistilledSession) -> Extraction:
    source_material = _material(machine, record)
    question = Question(INSTRUCTIONS, source_material.prompt(_fence()), MOST_OUTPUT)
    answer, cost = Meter(machine, project, settings, GOAL).ask(
        question,
        lambda text: extracted(text, source_material, label_of(settings)),
        lambda: _CALLS.next(project, record),
    )
    return _propose(machine, project, record.session, answer, cost)


def _material(machine: Machine, record: DistilledSession) -> Material:
    home = str(machine.user_home)

    def clean(text: str) -> str:
        cleaned = machine.clean(text)
        return cleaned.replace(home, "~") if len(home) > 1 else cleaned

    return material(record, clean)


def _propose(
    machine: Machine, project: Project, session: str, found: Extracted, cost: Decimal | None
) -> Extraction:
    dropped = [*found.dropped]
    lessons: list[Lesson] = []
    for lesson in found.lessons:
        # The model saw no secret: one in its answer is invented, or put together from pieces.
        if (
            any(machine.clean(rule) != rule for rule in lesson.rules)
            or machine.clean(lesson.name) != lesson.name
        ):
            dropped.append("a lesson is refused: it looks like a secret")
        else:
            lessons.append(lesson)
    proposed = propose(machine, project, _new_and_named_apart(machine, project, lessons))
    return Extraction(
        session=session,
        added=proposed.added,
        known=len(lessons) - len(proposed.added),
        dropped=tuple(dropped),
        cost_usd=cost,
    )


def _new_and_named_apart(machine: Machine, project: Project, lessons: Iterable[Lesson]) -> list[Lesson]:
    """The lessons that are new, one per rule. A name that another lesson already has gets a suffix."""
    existing = [stored.lesson for _, stored in lesson_store(machine, project).read().lessons()]
    taken: dict[str, set[str]] = {}
    for stored_lesson in existing:
        taken.setdefault(stored_lesson.name, set()).update(stored_lesson.rules)
    renamed: list[Lesson] = []
    for lesson in lessons:
        if any(says_the_same(lesson, stored_lesson) for stored_lesson in existing):
            continue
        is_taken = taken.setdefault(lesson.name, set(lesson.rules)).isdisjoint(lesson.rules)
        renamed.append(replace(lesson, name=f"{lesson.name}-{lesson.id[2:]}") if is_taken else lesson)
    return renamed


def _fence() -> str:
    return "".join(choice(_DIGITS) for _ in range(6))
