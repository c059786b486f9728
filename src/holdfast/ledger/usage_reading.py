"""Counts the usage of one transcript into quarters of an hour. Keeps numbers, model names and hashes, nothing else."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.agent_kit.contract import Claims, Warned
from holdfast.core.errors import TranscriptError
from holdfast.core.hashes import blake2b
from holdfast.core.open_files import marks_of
from holdfast.core.patterns import lazy_regex
from holdfast.ledger.usage_cache import QUARTER, Bucket, BucketKey, CountedSource, UsageCache, UsageSource
from holdfast.ledger.usage_projects import project_root
from holdfast.model.events import AgentTurn, Began, Event, ToolCall, Usage, UsageReport, UserTurn, sane
from holdfast.sessions.cost import PRICE_STEPS, is_listed
from holdfast.sessions.line_claims import ClaimRun, SourceClaims
from holdfast.sessions.usage_gaps import (
    LOW_OUTPUT,
    NO_USAGE,
    REPORT_AT_END,
    UNREADABLE,
    is_low,
    unreadable_lines,
)

BATCH_FILES = 64
RECENT = 16  # responses whose usage the next lines may state again
_OPEN = 1024  # the same within one pass, where blocks of two responses may alternate
_EVENTS_BETWEEN_WORDS = 20_000
_MODEL = lazy_regex(r"[A-Za-z0-9_./:@+\[\]-]{1,80}")
_IDENTITY = lazy_regex(r"[\w.:-]{1,80}")
# What a reader carries to the next pass, as far as it bears on usage. Everything else may hold words of a person or
# an agent and is dropped; a reader that is not listed starts from the beginning when its file has grown.
_CARRIED: dict[str, tuple[str, ...]] = {
    "claude-code": ("line", "subagent", "copied"),
    "codex": ("line", "objects", "session", "parent", "first_at", "model", "replaying", "total", "reports"),
}
# Claude Code's responses are claimed by their own id: its lines need no claims.
_CLAIMED_BY_RESPONSE = frozenset(("claude-code",))


class _Response(Struct):
    """A response as stated last; `written` is how many characters of it the transcript shows."""

    quarter: int
    at: float
    model: str
    band: int
    usage: Usage
    stated_usd: float | None
    written: int = 0


class _Carried(Struct):
    """What the next pass over a grown file needs to correct what this one counted."""

    responses: dict[str, _Response] = {}
    worked: bool = False  # the agent has replied since the last prompt
    reported: bool = False  # … and its usage was stated
    at: float | None = None


class UsageCount:
    """The usage in the events of one pass: what to add to the counts of earlier passes."""

    def __init__(
        self, agent: str, carried: bytes, otherwise: float, clean: Callable[[str], str] = lambda text: text
    ) -> None:
        self._clean = clean
        self._models: dict[str, str] = {}
        self.buckets: dict[BucketKey, Bucket] = {}
        self.gaps: dict[tuple[int, str], int] = {}
        self.session = self.parent = self.provider = self.cwd = self.ran = ""
        self._at_end = agent in REPORT_AT_END
        self._silent: list[float] = []
        self._carried = msgspec.msgpack.decode(carried, type=_Carried) if carried else _Carried()
        self._responses = self._carried.responses
        self._at = self._carried.at or otherwise
        self._worked, self._reported = self._carried.worked, self._carried.reported
        if self._worked and not self._reported:
            self._note(
                NO_USAGE, self._at, -1
            )  # counted at the end of the last pass; it may still be reported

    def take_all(self, events: Iterable[Event]) -> None:
        for event in events:
            kind = type(event)
            if event.at is not None:
                self._at = event.at
            if kind is UsageReport:
                self._take(event)  # type: ignore[arg-type]
            elif kind is AgentTurn or kind is ToolCall:
                self._worked = True
            elif kind is UserTurn:
                self._end_turn()
            elif kind is Began:
                self._began(event)  # type: ignore[arg-type]

    def _began(self, event: Began) -> None:
        self.session = event.session or self.session
        self.ran = event.agent or self.ran
        self.parent = event.parent or self.parent
        self.provider = event.provider or self.provider
        self.cwd = self.cwd or event.cwd

    def _take(self, report: UsageReport) -> None:
        self._reported = True
        self._silent.clear()
        key = report.key
        usage = sane(report.usage)
        before = self._responses.get(key)
        if before is None and self._carried.at is not None:
            before = self._responses.get(hashed := _hashed(key))
            key = hashed if before is not None else key
        if before is None:
            response = self._response(report, usage, 0)
        else:
            self._add(before, -1)
            written = before.written + report.written
            if usage.output >= before.usage.output:
                response = self._response(report, usage, written)
                response.quarter, response.at = before.quarter, before.at
            else:
                response = msgspec.structs.replace(before, written=written)
            if response.stated_usd is None:
                response.stated_usd = before.stated_usd
        self._add(response, 1)
        self._responses[key] = response
        if len(self._responses) > _OPEN:
            self._responses = dict(list(self._responses.items())[-_OPEN // 2 :])

    def _response(self, report: UsageReport, usage: Usage, written: int) -> _Response:
        at = report.at if report.at is not None else self._at
        model = self._models.get(report.model)
        if model is None:
            model = self._models[report.model] = self._named(report.model)
        band = bisect_left(PRICE_STEPS, usage.prompt_tokens)
        quarter = int(at // QUARTER * QUARTER)
        return _Response(quarter, at, model, band, usage, report.cost_usd, written or report.written)

    def _named(self, model: str) -> str:
        """A model's name as it may be stored: one that no price list has could be anything."""
        return model if is_listed(model) else self._clean(model) if _MODEL.fullmatch(model) else ""

    def _add(self, response: _Response, sign: int) -> None:
        key = response.quarter, response.model, response.band
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self.buckets[key] = Bucket(response.at, response.at)
        bucket.first, bucket.last = min(bucket.first, response.at), max(bucket.last, response.at)
        used = response.usage
        bucket.usage = bucket.usage + (used if sign > 0 else _negative(used))
        bucket.responses += sign
        if response.stated_usd is not None:
            bucket.stated_usd = (bucket.stated_usd or 0.0) + sign * response.stated_usd
        if is_low(response.written, used.output):
            self._note(LOW_OUTPUT, response.at, sign)

    def _end_turn(self) -> None:
        if self._worked and not self._reported:
            self._silent.append(self._at)
            if not self._at_end:
                self._settle_silent()
        self._worked = self._reported = False

    def _settle_silent(self) -> None:
        for at in self._silent:
            self._note(NO_USAGE, at, 1)
        self._silent.clear()

    def _note(self, reason: str, at: float, times: int) -> None:
        key = int(at // QUARTER * QUARTER), reason
        self.gaps[key] = self.gaps.get(key, 0) + times

    def finish(self, unreadable: int) -> bytes:
        """Closes the count; returns what the next pass needs."""
        carried = _Carried(
            {
                key if len(key) == 16 and key.isalnum() else _hashed(key): response
                for key, response in list(self._responses.items())[-RECENT:]
            },
            self._worked,
            self._reported,
            self._at,
        )
        self._settle_silent()
        if self._worked and not self._reported:
            self._note(NO_USAGE, self._at, 1)
        if unreadable:
            self._note(UNREADABLE, self._at, unreadable)
        return msgspec.msgpack.encode(carried)


def count_all(
    cache: UsageCache,
    sources: Sequence[UsageSource],
    clean: Callable[[str], str],
    progress: Callable[[int, int, str], None],
) -> list[Warned]:
    """Counts these transcripts, in batches that are kept if the command is interrupted; returns what failed."""
    claims, warnings = ClaimRun(cache), []
    total, done = sum(source.size for source in sources), 0
    waiting: list[Counted] = []
    following = cache.next_source()

    def advance(read: int) -> None:
        progress(min(done + read, total), total, source.path.name)

    def save() -> None:
        with cache.transaction():
            for counted in waiting:
                counted.save(cache)
        waiting.clear()
        claims.rest()

    for source in sources:
        advance(0)
        try:
            waiting.append(count_source(cache, claims, source, following, clean, advance))
        except TranscriptError as error:
            warnings.append(Warned(source.key, 0, "unreadable", error.problem))
        following += 1
        done += source.size
        if len(waiting) >= BATCH_FILES:
            save()
    save()
    progress(total, total, "")
    return warnings


def count_source(
    cache: UsageCache,
    claims: ClaimRun,
    source: UsageSource,
    number: int,
    clean: Callable[[str], str],
    advance: Callable[[int], None],
) -> Counted:
    """Reads a transcript from where the last run stopped, or from its start."""
    agent, hashed = source.importer.agent, cache.hashed
    before = cache.source(hashed(source.key))
    if before is not None:
        number = before.id
        if not _continues(source, before):
            with cache.transaction():
                cache.release(number)
            before = None
    own_claims = SourceClaims(claims, number)
    used_claims: Claims = _ResponseClaims(own_claims) if agent in _CLAIMED_BY_RESPONSE else own_claims
    start, state = (before.position, before.state) if before is not None else (0, b"")
    otherwise = source.started if source.started is not None else source.mtime_ns / 1e9
    count = UsageCount(agent, before.recent if before is not None else b"", otherwise, clean)
    reading = source.importer.open(source.path, start, state, used_claims, source.part)

    def watched() -> Iterable[Event]:
        for done, event in enumerate(reading.events(), 1):
            if not done % _EVENTS_BETWEEN_WORDS:
                advance(reading.position() - start)
            yield event

    count.take_all(watched())
    recent = count.finish(unreadable_lines(reading.warnings))
    position = reading.position()
    kept_state = _without_words(agent, reading.state())
    place = source.cwd or count.cwd
    ran = (
        clean(count.ran) if _IDENTITY.fullmatch(count.ran) else before.agent if before is not None else agent
    )
    counted = CountedSource(
        id=number,
        key=hashed(source.key),
        size=source.size,
        mtime_ns=source.mtime_ns,
        position=position if kept_state else 0,
        marks=_marks(source.path, position) if kept_state else b"",
        state=kept_state,
        recent=recent if kept_state else b"",
        agent=ran,
        provider=count.provider or (before.provider if before is not None else ""),
        project=before.project if before is not None else hashed(project_root(place)),
        own=hashed(count.session) or (before.own if before is not None else hashed(source.key)),
        parent=hashed(count.parent) or (before.parent if before is not None else b""),
    )
    return Counted(counted, count, own_claims)


class Counted(Struct, frozen=True):
    source: CountedSource
    count: UsageCount
    claims: SourceClaims

    def save(self, cache: UsageCache) -> None:
        """Within the caller's transaction."""
        cache.put(self.source)
        cache.add(self.source.id, self.count.buckets.items())
        cache.add_gaps(self.source.id, ((key, times) for key, times in self.count.gaps.items() if times))
        self.claims.save()


class _ResponseClaims:
    """Claims responses only."""

    def __init__(self, claims: SourceClaims) -> None:
        self.foreign = claims.foreign

    def repeated(self, key: str) -> bool:
        return False


def _continues(source: UsageSource, before: CountedSource) -> bool:
    """Whether a file only grew since it was read, and its reader can go on from there."""
    return bool(
        before.state
        and source.importer.appends
        and source.size >= before.position
        and _marks(source.path, before.position) == before.marks
    )


def _marks(path: Path, position: int) -> bytes:
    try:
        return marks_of(path, position)
    except OSError as error:
        raise TranscriptError(
            f"cannot be read: {error.strerror}", where=str(path), fix="Try again"
        ) from error


def _without_words(agent: str, state: bytes) -> bytes:
    """A reader's state without anything that a person or an agent said; b"" where it would not be enough."""
    names = _CARRIED.get(agent)
    if names is None or not state:
        return b""
    values: dict[str, Any] = msgspec.msgpack.decode(state)
    kept = {name: values[name] for name in names if name in values}
    texts = [value for value in kept.values() if isinstance(value, str)]
    if not all(not text or _IDENTITY.fullmatch(text) for text in texts):
        return b""
    return msgspec.msgpack.encode(kept)


def _hashed(key: str) -> str:
    return blake2b(key.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _negative(usage: Usage) -> Usage:
    return Usage(*(-count for count in msgspec.structs.astuple(usage)))
