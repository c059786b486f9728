"""What was known and what is seen now, made one: what is not seen again, or one too many, goes to the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from holdfast.model.knowledge import (
    SCAN,
    Caps,
    Convention,
    FileNote,
    Items,
    Knowledge,
    LearnedFact,
    Looked,
    Pattern,
    usefulness,
)

T = TypeVar("T", Convention, Pattern, LearnedFact, FileNote)
_OLD_WEIGHT = 0.3  # of the confidence that something had before it was seen again
_MOST_EVIDENCE = 4
_MOST_FILES = 12
_MOST_SOURCES = 20


def merged(known: Knowledge, seen: Items, looked: Looked, now: float, caps: Caps) -> Knowledge:
    """`seen` is all that a whole look at the checkout found, and all facts that hold."""
    conventions = _kind(known, "conventions", seen.conventions, now, _again_convention)
    patterns = _kind(known, "patterns", seen.patterns, now, _again_pattern)
    notes = _kind(known, "files", seen.files, now, lambda old, new: new)
    facts = _kind(known, "facts", seen.facts, None, _again_fact)
    kept = Items(
        conventions=_capped(conventions[0], caps.conventions, conventions[1], usefulness),
        patterns=_capped(patterns[0], caps.patterns, patterns[1], lambda one: (-one.confidence, one.name)),
        facts=_capped(facts[0], caps.facts, facts[1], lambda one: (-one.confidence, one.statement)),
        files=_capped(
            notes[0],
            caps.files,
            notes[1],
            lambda one: (not one.is_hot, -one.changes, -one.complexity, one.path),
        ),
    )
    archive = Items(
        conventions=tuple(conventions[1]),
        patterns=tuple(patterns[1]),
        facts=tuple(facts[1]),
        files=tuple(notes[1]),
    )
    return Knowledge(now=kept, archive=archive, looked=looked, scanned_at=now)


def with_facts(known: Knowledge, seen: Sequence[LearnedFact], caps: Caps) -> Knowledge:
    """`seen` is all facts that hold; the rest stays as the last look found it."""
    facts, archived = _kind(known, "facts", seen, None, _again_fact)
    kept = _capped(facts, caps.facts, archived, lambda one: (-one.confidence, one.statement))
    return replace(
        known, now=replace(known.now, facts=kept), archive=replace(known.archive, facts=tuple(archived))
    )


def _kind(
    known: Knowledge, kind: str, seen: Sequence[T], now: float | None, again: Callable[[T, T], T]
) -> tuple[list[T], list[T]]:
    """The items that hold, and those that are set aside; an item is in one of the two."""
    before: dict[tuple[str, ...], T] = {item.key: item for item in getattr(known.now, kind)}
    archived: dict[tuple[str, ...], T] = {item.key: item for item in getattr(known.archive, kind)}
    holding: dict[tuple[str, ...], T] = {}
    for item in seen:
        old = before.get(item.key) or archived.pop(item.key, None)
        item = again(old, item) if old is not None else item
        holding[item.key] = item if now is None else replace(item, confirmed=now)
    for key, old in before.items():
        if key in holding:
            continue
        if _is_ours(old):
            archived[key] = old  # a whole look did not find it again
        else:
            holding[key] = old
    for key in holding:
        archived.pop(key, None)
    # What only sessions said and none says any more was forgotten with them: not a byte of it may stay.
    archived = {key: old for key, old in archived.items() if not _is_of_sessions(old)}
    return list(holding.values()), list(archived.values())


def _is_ours(item: Any) -> bool:
    """Whether a look at the checkout, or the record of sessions, said it: then these can take it back."""
    return bool(item.sources) if isinstance(item, LearnedFact) else item.by == SCAN


def _is_of_sessions(item: Any) -> bool:
    return isinstance(item, LearnedFact) and bool(item.sources) and "user" not in item.sources


def _again_convention(old: Convention, new: Convention) -> Convention:
    evidence = tuple(dict.fromkeys((*new.evidence, *old.evidence)))[:_MOST_EVIDENCE]
    return replace(new, confidence=_confidence(old.confidence, new.confidence), evidence=evidence)


def _again_pattern(old: Pattern, new: Pattern) -> Pattern:
    files = tuple(dict.fromkeys((*new.files, *old.files)))[:_MOST_FILES]
    return replace(new, confidence=_confidence(old.confidence, new.confidence), files=files)


def _again_fact(old: LearnedFact, new: LearnedFact) -> LearnedFact:
    sources = tuple(dict.fromkeys((*old.sources, *new.sources)))[-_MOST_SOURCES:]
    earliest = min(filter(None, (old.timestamp, new.timestamp)), default="")
    return replace(new, sources=sources, timestamp=earliest, confirmed=max(old.confirmed, new.confirmed))


def _confidence(old: float, new: float) -> float:
    return round(_OLD_WEIGHT * old + (1 - _OLD_WEIGHT) * new, 2)


def _capped(
    items: Iterable[T], cap: int, archive: list[T], rank: Callable[[T], tuple[Any, ...]]
) -> tuple[T, ...]:
    """The items last confirmed, the more useful first among equals; the rest goes to the archive."""
    ordered = sorted(items, key=rank)
    ordered.sort(key=lambda item: -item.confirmed)
    archive.extend(ordered[cap:])
    return tuple(sorted(ordered[:cap], key=rank))
