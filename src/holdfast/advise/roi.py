"""What memory saved, counted from what it is handed: no figure without its formula and n, and no guesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.advise.evidence import Evidence, SessionFacts
from holdfast.advise.figures import (
    FEWEST,
    Difference,
    Failures,
    Figure,
    Spread,
    rate_shift,
    ratio,
    share,
    shift,
    spread,
)
from holdfast.advise.repeating import Questions, Stage, continued, re_explaining, repeated_questions

OBSERVED = (
    "This is an observation, not an experiment: sessions with and without memory differ in more than memory "
    "(when they were, who worked on what)."
)


# --- what comes out ------------------------------------------------------------------------------------


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
    notes: tuple[str, ...]


def roi_of(evidence: Evidence) -> Roi:
    return Roi(
        sessions=_sessions(evidence),
        injected=_injected(evidence),
        lines=tuple(
            Lines(
                category=kept.category,
                files=kept.files,
                value=kept.lines,
                n=kept.files,
                formula=f"lines of {kept.named}, in all projects of this repository",
            )
            for kept in evidence.kept
        ),
        compression=_compression(evidence),
        questions=repeated_questions(evidence),
        re_explaining=re_explaining(evidence),
        continued=continued(evidence),
        notes=(*([OBSERVED] if evidence.told else ()), *evidence.notes),
    )


# --- sessions with and without -------------------------------------------------------------------------

_WITH = "sessions with a line in why.jsonl that told them something"
_WITHOUT = (
    "all other sessions: before the hooks, with them switched off, of other agents, or with nothing to tell"
)


def _sessions(evidence: Evidence) -> Sessions:
    wanted = [session for session in evidence.sessions if evidence.wanted(session.at)]
    told = [session for session in wanted if session.told]
    others = [session for session in wanted if session.told is False]
    enough = min(len(told), len(others)) >= FEWEST
    return Sessions(
        with_memory=_group(told, _WITH),
        without_memory=_group(others, _WITHOUT),
        difference=_differences(told, others) if enough else None,
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
    """None where no file was touched: some agents do not record what they read."""
    return len(session.opened - session.changed) if session.touched else None


def _failures(sessions: Iterable[SessionFacts]) -> Failures:
    judged = [session for session in sessions if session.tasks]
    return Failures(sum(s.tasks for s in judged), sum(s.failed for s in judged), len(judged))


# --- what it cost, what is kept ------------------------------------------------------------------------


def _injected(evidence: Evidence) -> Injected:
    tokens = [told.tokens for told in evidence.told]
    by_session = {told.session: told.tokens for told in evidence.told}
    # Where less was recorded as read than was injected, the record of tokens is not whole.
    known = [
        (by_session[session.session], session.new_input)
        for session in evidence.sessions
        if session.session in by_session
        and session.new_input
        and session.new_input >= by_session[session.session]
    ]
    return Injected(
        tokens=Figure(value=sum(tokens), n=len(tokens), formula="sum of the tokens in why.jsonl; n sessions"),
        per_session=spread(tokens, "tokens in why.jsonl for each session that was told something"),
        share=Figure(
            value=sum(own for own, _ in known) / sum(read for _, read in known) if known else None,
            n=len(known),
            formula="injected tokens / tokens that the model read for the first time (input + cache writes), "
            "over sessions told something whose tokens are recorded",
            note="" if known else "no session that was told something has recorded its tokens",
        ),
    )


def _compression(evidence: Evidence) -> Compression:
    kept_bytes = sum(kept.bytes for kept in evidence.kept)
    kept_files = sum(kept.files for kept in evidence.kept)
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
            formula="median bytes that a session was told, of those told something",
            note="" if told.n else "no session was told anything yet",
        ),
        ratio=ratio(
            read, kept_bytes, evidence.transcript_files, "transcript bytes / bytes kept", "nothing kept yet"
        ),
        told_ratio=ratio(
            read,
            typical,
            told.n,
            "transcript bytes / bytes that a session is told (median)",
            "no session was told anything yet",
        ),
    )
