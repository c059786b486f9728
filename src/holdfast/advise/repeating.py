"""What came up again although it was known: questions, files, dead ends; and what was taken up where it was left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from holdfast.advise.evidence import Asking, Evidence
from holdfast.advise.figures import Figure, share

STAGES = ((1, 5), (6, 10), (11, None))


class Questions(Struct, frozen=True, kw_only=True):
    offered: Figure
    asked_again: Figure


class Stage(Struct, frozen=True, kw_only=True):
    """Re-explaining in the sessions of one stage, by their number in time order."""

    sessions: str
    n: int
    files: Figure
    dead_ends: Figure


def repeated_questions(evidence: Evidence) -> Questions:
    again = asked = 0
    for group in evidence.questions:
        for asking in group:
            if evidence.wanted(asking.at):
                asked += 1
                again += _was_answered(asking, group)
    return Questions(
        offered=Figure(
            value=evidence.offered,
            n=evidence.offered + again,
            formula="lines of answered.jsonl: a question met with the answer on record; n with those asked again",
        ),
        asked_again=Figure(
            value=again,
            n=asked,
            formula="questions asked, in these or other words, after another session had their answer; n asked in all",
        ),
    )


def _was_answered(asking: Asking, group: Sequence[Asking]) -> bool:
    return asking.at is not None and any(
        other.session != asking.session and other.answered_at is not None and other.answered_at < asking.at
        for other in group
    )


class _Counts(Struct):
    sessions: int = 0
    files: int = 0
    known_files: int = 0
    dead_ends: int = 0
    repeated: int = 0


def re_explaining(evidence: Evidence) -> tuple[Stage, ...]:
    """The first session has nothing before it, so nothing of it can be a repetition and it is not counted."""
    counts: Mapping[int, _Counts] = {first: _Counts() for first, _ in STAGES}
    touched: set[str] = set()
    resolved: set[str] = set()
    for number, session in enumerate(evidence.sessions, 1):
        if evidence.wanted(session.at):
            own = counts[next(first for first, last in STAGES if last is None or number <= last)]
            own.sessions += 1
            if number > 1:
                own.files += len(session.opened)
                own.known_files += len(session.opened & touched)
                commands = {stumble.command for stumble in session.stumbles}
                own.dead_ends += len(commands)
                own.repeated += len(commands & resolved)
        touched |= session.touched
        resolved |= {stumble.command for stumble in session.stumbles if stumble.resolved}
    return tuple(_stage(first, last, counts[first], len(evidence.sessions)) for first, last in STAGES)


def _stage(first: int, last: int | None, own: _Counts, sessions: int) -> Stage:
    name = f"{first}–{last}" if last else f"{first}+"
    needed = last or first
    nothing = f"not enough sessions yet: {sessions} of {needed}" if sessions < needed else "nothing to count"
    complete = sessions >= needed
    files = share(
        own.known_files,
        own.files,
        "files opened that an earlier session had opened or changed / files opened",
        nothing,
    )
    dead_ends = share(
        own.repeated,
        own.dead_ends,
        "dead ends whose command an earlier session had resolved / dead ends",
        nothing,
    )
    if not complete:
        files, dead_ends = (
            Figure(value=None, n=figure.n, formula=figure.formula, note=nothing)
            for figure in (files, dead_ends)
        )
    return Stage(sessions=name, n=own.sessions, files=files, dead_ends=dead_ends)


def continued(evidence: Evidence) -> Figure:
    subjects = {session.session: session.subject for session in evidence.sessions}
    began = [told for told in evidence.told if told.opening and told.session in subjects]
    went_on = sum(any(subjects[told.session].continues(line) for line in told.opening) for told in began)
    return Figure(
        value=went_on if began else None,
        n=len(began),
        formula="sessions whose goal, tasks or files share a path, or two keywords, with a `Next`, `To do` or `Open` "
        "line they were told at their start / captured sessions that were told such a line",
        note="" if began else "no captured session was told at its start what to go on with",
    )
