"""Gathers the input of `ledger/roi.py`: session records, the trace of injected lines, and the memory's files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePath

from msgspec.structs import replace

from holdfast.briefing.explain import Injection, injections
from holdfast.core import files
from holdfast.core.errors import HoldfastError, StoreError
from holdfast.core.names import inside
from holdfast.core.patterns import lazy_regex
from holdfast.flows.holdout import effect
from holdfast.language.keywords import keywords
from holdfast.ledger.roi import (
    Asking,
    FailedCommand,
    MemorySize,
    Roi,
    RoiEvidence,
    SessionFacts,
    Subject,
    ToldFacts,
    roi_of,
)
from holdfast.ledger.rows import read_ledger
from holdfast.memory.merge import merge
from holdfast.memory.store import answers_given
from holdfast.model.events import DistilledSession
from holdfast.model.memory import Question
from holdfast.sessions.cost import cost_of_record
from holdfast.sessions.cursor import SourceStamp
from holdfast.sessions.store import CaptureStore
from holdfast.store.project import Project

HISTORIES, REFERENCE, MANUALS, STATE, TRACKER = (
    "session histories",
    "reference data",
    "operating manuals",
    "session state",
    "decision tracker",
)
CATEGORIES = {
    HISTORIES: "log.md and archive/*.md",
    REFERENCE: "reference.md",
    MANUALS: "style.md",
    STATE: "current.md",
    TRACKER: "open-questions.md",
}


def _kept(project: Project) -> tuple[list[MemorySize], list[str]]:
    """The size of the memory of all projects of the repository, and a line for each file that could not be read."""
    sizes = {category: MemorySize(category, pattern) for category, pattern in CATEGORIES.items()}
    problems: list[str] = []
    for category, path in _places(project.memory, problems):
        try:
            data = files.read(_inside(project.memory, path))
        except HoldfastError as error:
            problems.append(error.line())
            continue
        if data is not None:
            sizes[category].files += 1
            sizes[category].lines += len(data.splitlines())
            sizes[category].bytes += len(data)
    return list(sizes.values()), problems


def _transcript_sizes(project: Project) -> list[int | None]:
    """The size of each transcript when it was read; None for a session inside a database."""
    nothing: dict[str, tuple[SourceStamp, str]] = {}
    stamps = CaptureStore.glimpse(project.capture, lambda store: store.stamps(), nothing)
    # A key with a `#` is a part of a file; its stamp counts messages, not bytes.
    return [stamp.size if "#" not in PurePath(key).name else None for key, (stamp, _) in stamps.items()]


def _places(memory: Path, problems: list[str]) -> Iterator[tuple[str, Path]]:
    yield STATE, memory / "current.md"
    yield MANUALS, memory / "style.md"
    for folder in _below(memory / "projects", problems):
        yield HISTORIES, folder / "log.md"
        yield REFERENCE, folder / "reference.md"
        yield TRACKER, folder / "open-questions.md"
        for path in _below(folder / "archive", problems):
            if path.suffix == ".md":
                yield HISTORIES, path


def _below(folder: Path, problems: list[str]) -> list[Path]:
    if folder.is_symlink():
        problems.append(f"{folder}: it is a link, and memory is not read elsewhere.")
        return []
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _inside(memory: Path, path: Path) -> Path:
    if path.is_symlink():
        raise StoreError("it is a link, and memory is not read elsewhere", where=str(path))
    return inside(memory, path)


ALL = 1_000_000_000
MOST_WORDS = 40  # keywords of a session's goal and tasks together
_BEGAN = ("startup", "clear", None)
# Lines of a start digest about work to continue: `Next (by the user): …`, `To do (high): …`, `Open: …`.
_TO_GO_ON_WITH = lazy_regex(r"(?:Next|To do|Open(?: question)?)\b[^:]{0,60}:\s*")
_PATH = lazy_regex(r"[\w@+-][\w./@+-]*\w")
_NUMBERS = lazy_regex(r"\d+")


def roi(project: Project, since: datetime | None = None) -> Roi:
    """What memory saved in this project, as far as it can be measured. Writes nothing."""
    all_injections = injections(project)
    trace = [entry for entry in all_injections if entry.lines and entry.session]
    records = session_records(project)
    begins = _beginning(project, all_injections)
    kept, problems = _kept(project)
    sizes = _transcript_sizes(project)
    measured = [size for size in sizes if size is not None]
    start = since.timestamp() if since is not None else None
    told_facts = _told(trace, start)
    ever_told = {entry.session for entry in trace}
    recipients = {facts.session for facts in told_facts}
    sessions = [
        _facts(record, _was_told(record, ever_told, begins), with_subject=record.session in recipients)
        for record in records
    ]
    offered = [answer for answer in answers_given(project) if start is None or answer.at >= start]
    return roi_of(
        RoiEvidence(
            sessions=sessions,
            told=told_facts,
            questions=_askings(records),
            offered=len(offered),
            kept=kept,
            transcript_files=len(measured),
            transcript_bytes=sum(measured),
            since=start,
            holdout=effect(project, records),
            notes=[
                *_notes(sessions, told_facts, sizes.count(None)),
                *(f"Not counted: {problem}" for problem in problems),
            ],
        )
    )


def session_records(project: Project) -> list[DistilledSession]:
    """In time order, those without a date first. Forgotten sessions are not counted."""
    try:
        forgotten = {entry.session for entry in read_ledger(project).entries if entry.forgotten}
    except HoldfastError:
        forgotten = set()  # the ledger's own commands report the error
    unread: list[DistilledSession] | None = None
    records = CaptureStore.glimpse(project.capture, lambda store: store.records(ALL), unread)
    if records is None:
        if project.capture.exists():  # reporting 0 sessions would be wrong
            raise StoreError("cannot be read", where=str(project.capture), fix="Run holdfast doctor")
        return []
    counted = [record for record in records if record.session not in forgotten]
    return sorted(counted, key=lambda record: (record.started or 0.0, record.session))


def _facts(record: DistilledSession, told: bool | None, *, with_subject: bool) -> SessionFacts:
    used = [model.usage for model in record.models]
    # Files outside the project do not count; their paths also differ between machines.
    files = [touch for touch in record.files if not os.path.isabs(touch.path) and ":" not in touch.path[:3]]
    return SessionFacts(
        session=record.session,
        at=record.started,
        told=told,
        cost_usd=cost_of_record(record),
        minutes=None if record.active_s is None else record.active_s / 60,
        tokens=sum(usage.prompt_tokens + usage.output for usage in used) if used else None,
        new_input=sum(usage.input + usage.cache_write for usage in used) if used else None,
        tasks=len(record.tasks),
        failed=sum(task.status == "failed" for task in record.tasks),
        opened=frozenset(touch.path for touch in files if touch.reads),
        changed=frozenset(touch.path for touch in files if touch.edits),
        stumbles=tuple(
            FailedCommand(folded(end.tried), bool(end.instead)) for end in record.harvest.dead_ends
        ),
        subject=_subject(record) if with_subject else Subject(),
    )


def folded(command: str) -> str:
    """Normalises a command: equal for commands that differ only in case, spacing and numbers."""
    return _NUMBERS.sub("#", " ".join(command.casefold().split()))


def _subject(record: DistilledSession) -> Subject:
    text = "\n".join([record.goal, *(task.title for task in record.tasks)])
    words = {*record.keywords, *keywords(text, MOST_WORDS)}
    return Subject(frozenset(words), frozenset(touch.path for touch in record.files))


def _told(trace: Iterable[Injection], since: float | None) -> list[ToldFacts]:
    by_session: dict[str, list[Injection]] = {}
    for entry in trace:
        if since is None or ((at := _moment(entry.time)) is not None and at >= since):
            by_session.setdefault(entry.session or "", []).append(entry)
    return [
        ToldFacts(
            session=session,
            tokens=sum(max(entry.tokens, 0) for entry in entries),
            bytes=sum(len(line.text.encode("utf-8", "replace")) for entry in entries for line in entry.lines),
            opening=tuple(
                subject
                for entry in entries
                if entry.event == "SessionStart" and entry.source in _BEGAN
                for line in entry.lines
                if (subject := to_go_on_with(line.text)) is not None
            ),
        )
        for session, entries in by_session.items()
    ]


def to_go_on_with(line: str) -> Subject | None:
    """The subject of a digest line about work to continue; None for a line that only informs."""
    label = _TO_GO_ON_WITH.match(line)
    if label is None:
        return None
    task = line[label.end() :]
    paths = [word for word in _PATH.findall(task) if "/" in word or "." in word]
    return Subject(frozenset(keywords(task)), frozenset(paths))


def _beginning(project: Project, trace: Iterable[Injection]) -> float | None:
    """The time from which the trace is complete: it is bounded, and rotation may have dropped older entries."""
    if not (project.memory / "why.jsonl.1").exists():
        return None
    return min((at for entry in trace if (at := _moment(entry.time)) is not None), default=None)


def _was_told(record: DistilledSession, told: set[str | None], begins: float | None) -> bool | None:
    if record.session in told:
        return True
    return None if begins is not None and (record.started is None or record.started < begins) else False


def _moment(time: str) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _askings(records: Sequence[DistilledSession]) -> list[list[Asking]]:
    """The questions of all sessions, grouped by meaning."""
    starts: Mapping[str, float | None] = {record.session: record.started for record in records}
    asked = [
        replace(question, session=record.session)
        for record in records
        for question in record.harvest.questions
    ]

    def asking(question: Question) -> Asking:
        at = question.at if question.at is not None else starts[question.session]
        answered = (
            (question.answered_at if question.answered_at is not None else at) if question.answer else None
        )
        return Asking(question.session, at, answered)

    return [[asking(question) for question in merged.sources] for merged in merge(asked).merged]


def _notes(sessions: Sequence[SessionFacts], told: Sequence[ToldFacts], unmeasured: int) -> list[str]:
    notes = []
    recorded = {session.session for session in sessions}
    if waiting := sum(facts.session not in recorded for facts in told):
        notes.append(
            f"{_count(waiting, 'session')} saw memory and will be recorded later: counted in injected tokens only."
        )
    if unknown := sum(session.told is None for session in sessions):
        notes.append(
            f"In neither group: {_count(unknown, 'session')} from before the record of what agents saw begins "
            "(why.jsonl is limited in size)."
        )
    if unmeasured:
        notes.append(
            f"Read from a database, whose bytes do not count as transcripts: {_count(unmeasured, 'session')}."
        )
    if sessions:
        notes.append(
            "Records do not say which calls came before the first edit, so files opened but not changed are used "
            "instead."
        )
    return notes


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
