"""Computes what memory saved, from values that the caller gathered: every figure has its formula and its n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.ledger.holdout import Report
from holdfast.ledger.stats import FEWEST_FOR_DIFFERENCE as FEWEST
from holdfast.ledger.stats import (
    Difference,
    Figure,
    Spread,
    rate_shift,
    ratio,
    share,
    shift,
    spread,
)
from holdfast.ledger.tally import Clusters

STAGES = ((1, 5), (6, 10), (11, None))
OBSERVED = (
    "This is an observation, not an experiment: sessions with and without memory differ in more than memory "
    "(when they were, who worked on what)."
)
_WITH = "sessions that saw at least one line (why.jsonl)"
_WITHOUT = "all other sessions: before hooks, with hooks off, of other agents, or with nothing to show"
ENOUGH_WORDS = 2  # that a line and a session have in common, for the session to have gone on from it


class Subject(Struct, frozen=True):
    """The subject of a text or a session: its content words, and the paths it names."""

    words: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()

    def continues(self, line: Subject) -> bool:
        return bool(self.paths & line.paths) or len(self.words & line.words) >= ENOUGH_WORDS


class FailedCommand(Struct, frozen=True):
    command: str
    resolved: bool


class SessionFacts(Struct, frozen=True, kw_only=True):
    """One session. None is unknown; `told` is None if the injection trace no longer exists."""

    session: str
    at: float | None
    told: bool | None
    cost_usd: float | None = None
    minutes: float | None = None
    tokens: int | None = None
    new_input: int | None = None  # tokens that the model read for the first time
    tasks: int = 0
    failed: int = 0
    opened: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    stumbles: tuple[FailedCommand, ...] = ()
    subject: Subject = Subject()

    @property
    def touched(self) -> frozenset[str]:
        return self.opened | self.changed


class ToldFacts(Struct, frozen=True, kw_only=True):
    """What was injected into one session; `opening` has the start lines about work to continue."""

    session: str
    tokens: int
    bytes: int
    opening: tuple[Subject, ...] = ()


class Asking(Struct, frozen=True):
    """One time that a question was asked; the askings of one group ask the same in other words."""

    session: str
    at: float | None
    answered_at: float | None


class MemorySize(Struct):
    """How much the files of one category hold."""

    category: str
    named: str
    files: int = 0
    lines: int = 0
    bytes: int = 0


class RoiEvidence(Struct, frozen=True, kw_only=True):
    """All input of the figures. `sessions` are in time order; `since` limits the period."""

    sessions: Sequence[SessionFacts] = ()
    told: Sequence[ToldFacts] = ()
    questions: Sequence[Sequence[Asking]] = ()
    offered: int = 0
    kept: Sequence[MemorySize] = ()
    transcript_files: int = 0
    transcript_bytes: int = 0
    since: float | None = None
    holdout: Report | None = None
    notes: Sequence[str] = ()

    def wanted(self, at: float | None) -> bool:
        return self.since is None or (at is not None and at >= self.since)


class Questions(Struct, frozen=True, kw_only=True):
    offered: Figure
    asked_again: Figure


class Stage(Struct, frozen=True, kw_only=True):
    """Re-explaining in the sessions of one stage, by their number in time order."""

    sessions: str
    n: int
    files: Figure
    dead_ends: Figure


def repeated_questions(evidence: RoiEvidence) -> Questions:
    again = question_count = 0
    for group in evidence.questions:
        for asking in group:
            if evidence.wanted(asking.at):
                question_count += 1
                again += _was_answered(asking, group)
    return Questions(
        offered=Figure(
            value=evidence.offered,
            n=evidence.offered + again,
            formula="lines of answered.jsonl: a question met with the answer on record; n with those asked again",
        ),
        asked_again=Figure(
            value=again,
            n=question_count,
            formula="questions asked, in these or other words, after another session had their answer; n asked in all",
        ),
    )


def _was_answered(asking: Asking, group: Sequence[Asking]) -> bool:
    return asking.at is not None and any(
        earlier.session != asking.session
        and earlier.answered_at is not None
        and earlier.answered_at < asking.at
        for earlier in group
    )


def re_explaining(evidence: RoiEvidence) -> tuple[Stage, ...]:
    """The first session cannot repeat anything, so its files and dead ends are not counted."""
    counts: dict[int, Counter[str]] = {first: Counter() for first, _ in STAGES}
    touched: set[str] = set()
    resolved: set[str] = set()
    for number, session in enumerate(evidence.sessions, 1):
        if evidence.wanted(session.at):
            stage_counts = counts[next(first for first, last in STAGES if last is None or number <= last)]
            stage_counts["sessions"] += 1
            if number > 1:
                commands = {failure.command for failure in session.stumbles}
                stage_counts["files"] += len(session.opened)
                stage_counts["known files"] += len(session.opened & touched)
                stage_counts["dead ends"] += len(commands)
                stage_counts["repeated"] += len(commands & resolved)
        touched |= session.touched
        resolved |= {failure.command for failure in session.stumbles if failure.resolved}
    return tuple(_stage(first, last, counts[first], len(evidence.sessions)) for first, last in STAGES)


def _stage(first: int, last: int | None, own: Counter[str], sessions: int) -> Stage:
    needed = last or first
    few = f"not enough sessions yet: {sessions} of {needed}" if sessions < needed else ""

    def figure(part: str, whole: str, formula: str) -> Figure:
        if few:
            return Figure(value=None, n=own[whole], formula=formula, note=few)
        return share(own[part], own[whole], formula, "nothing to count")

    return Stage(
        sessions=f"{first}–{last}" if last else f"{first}+",
        n=own["sessions"],
        files=figure(
            "known files",
            "files",
            "files opened that an earlier session had opened or changed / files opened",
        ),
        dead_ends=figure(
            "repeated", "dead ends", "dead ends whose command an earlier session had resolved / dead ends"
        ),
    )


def continued(evidence: RoiEvidence) -> Figure:
    subjects = {session.session: session.subject for session in evidence.sessions}
    began = [told for told in evidence.told if told.opening and told.session in subjects]
    went_on = sum(any(subjects[told.session].continues(line) for line in told.opening) for told in began)
    return Figure(
        value=went_on if began else None,
        n=len(began),
        formula="sessions whose goal, tasks or files share a path, or two keywords, with a `Next`, `To do` or `Open` "
        "line they saw at their start / captured sessions that saw such a line",
        note="" if began else "no captured session saw at its start what to continue with",
    )


class Group(Struct, frozen=True, kw_only=True):
    sessions: Figure
    cost: Spread
    minutes: Spread
    tokens: Spread
    opened: Spread
    failures: Figure


class Differences(Struct, frozen=True, kw_only=True):
    cost: Difference | None
    minutes: Difference | None
    tokens: Difference | None
    opened: Difference | None
    failures: Difference | None


class Sessions(
    Struct, frozen=True, kw_only=True, rename={"with_memory": "with", "without_memory": "without"}
):
    with_memory: Group
    without_memory: Group
    difference: Differences | None


class Injected(Struct, frozen=True, kw_only=True):
    tokens: Figure
    per_session: Spread
    share: Figure


class Lines(Struct, frozen=True, kw_only=True):
    category: str
    files: int
    value: int
    n: int
    formula: str


class Compression(Struct, frozen=True, kw_only=True):
    transcripts: Figure
    kept: Figure
    told: Figure
    ratio: Figure
    told_ratio: Figure


class Roi(Struct, frozen=True, kw_only=True):
    sessions: Sessions
    injected: Injected
    lines: tuple[Lines, ...]
    compression: Compression
    questions: Questions
    re_explaining: tuple[Stage, ...]
    continued: Figure
    holdout: Report | None
    notes: tuple[str, ...]


def roi_of(evidence: RoiEvidence) -> Roi:
    return Roi(
        sessions=_sessions(evidence),
        injected=_injected(evidence),
        lines=tuple(
            Lines(
                category=category_files.category,
                files=category_files.files,
                value=category_files.lines,
                n=category_files.files,
                formula=f"lines of {category_files.named}, in all projects of this repository",
            )
            for category_files in evidence.kept
        ),
        compression=_compression(evidence),
        questions=repeated_questions(evidence),
        re_explaining=re_explaining(evidence),
        continued=continued(evidence),
        holdout=evidence.holdout,
        notes=(*([OBSERVED] if evidence.told else ()), *evidence.notes),
    )


def _sessions(evidence: RoiEvidence) -> Sessions:
    wanted = [session for session in evidence.sessions if evidence.wanted(session.at)]
    with_memory = [session for session in wanted if session.told]
    without_memory = [session for session in wanted if session.told is False]
    enough = min(len(with_memory), len(without_memory)) >= FEWEST
    return Sessions(
        with_memory=_group(with_memory, _WITH),
        without_memory=_group(without_memory, _WITHOUT),
        difference=_differences(with_memory, without_memory) if enough else None,
    )


def _group(sessions: Sequence[SessionFacts], formula: str) -> Group:
    failures = _failures(sessions)
    return Group(
        sessions=Figure(value=len(sessions), n=len(sessions), formula=formula),
        cost=spread(
            (session.cost_usd for session in sessions),
            "dollars per session of known cost, by the price table",
        ),
        minutes=spread(
            (session.minutes for session in sessions), "active minutes per session, pauses left out"
        ),
        tokens=spread(
            (session.tokens for session in sessions),
            "tokens per session: input, output, cache reads and cache writes",
        ),
        opened=spread(map(_only_opened, sessions), "files that a session opened and did not change"),
        failures=share(
            failures.failed, failures.tasks, "failed tasks / tasks of all these sessions", "no tasks yet"
        ),
    )


def _differences(told: Sequence[SessionFacts], others: Sequence[SessionFacts]) -> Differences:
    return Differences(
        cost=shift((s.cost_usd for s in told), (s.cost_usd for s in others)),
        minutes=shift((s.minutes for s in told), (s.minutes for s in others)),
        tokens=shift((s.tokens for s in told), (s.tokens for s in others)),
        opened=shift(map(_only_opened, told), map(_only_opened, others)),
        failures=rate_shift(_failures(told), _failures(others)),
    )


def _only_opened(session: SessionFacts) -> float | None:
    """None if no file was touched: some agents do not record what they read."""
    return len(session.opened - session.changed) if session.touched else None


def _failures(sessions: Iterable[SessionFacts]) -> Clusters:
    clusters = Clusters()
    for session in sessions:
        if session.tasks:
            clusters.add(session.tasks, session.failed)
    return clusters


def _injected(evidence: RoiEvidence) -> Injected:
    tokens = [injection.tokens for injection in evidence.told]
    by_session = {injection.session: injection.tokens for injection in evidence.told}
    # If fewer tokens were recorded as read than injected, the token record is incomplete.
    measured = [
        (by_session[session.session], session.new_input)
        for session in evidence.sessions
        if session.session in by_session
        and session.new_input
        and session.new_input >= by_session[session.session]
    ]
    return Injected(
        tokens=Figure(value=sum(tokens), n=len(tokens), formula="sum of the tokens in why.jsonl; n sessions"),
        per_session=spread(tokens, "tokens in why.jsonl for each session that saw memory"),
        share=Figure(
            value=sum(injected_tokens for injected_tokens, _ in measured) / sum(read for _, read in measured)
            if measured
            else None,
            n=len(measured),
            formula="injected tokens / tokens that the model read for the first time (input + cache writes), "
            "over sessions that saw memory and whose tokens are recorded",
            note="" if measured else "no session that saw memory has recorded its tokens",
        ),
    )


def _compression(evidence: RoiEvidence) -> Compression:
    kept_bytes = sum(category.bytes for category in evidence.kept)
    kept_files = sum(category.files for category in evidence.kept)
    told = spread([told.bytes for told in evidence.told], "")
    typical = round(told.value) if told.value else 0
    read = evidence.transcript_bytes
    return Compression(
        transcripts=Figure(
            value=read,
            n=evidence.transcript_files,
            formula="bytes of the transcript files, as they were when read",
        ),
        kept=Figure(
            value=kept_bytes, n=kept_files, formula="bytes of the files whose lines are counted above"
        ),
        told=Figure(
            value=typical if told.n else None,
            n=told.n,
            formula="median bytes a session saw, of those that saw memory",
            note="" if told.n else "no session has seen anything yet",
        ),
        ratio=ratio(
            read, kept_bytes, evidence.transcript_files, "transcript bytes / bytes kept", "nothing kept yet"
        ),
        told_ratio=ratio(
            read,
            typical,
            told.n,
            "transcript bytes / bytes a session sees (median)",
            "no session has seen anything yet",
        ),
    )
