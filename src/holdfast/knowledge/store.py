"""Merges, stores and renders the knowledge about a repository: `session.json` of a memory, key `knowledge`.

The file is replaced as a whole, under a lock. Keys of other programs stay; an item that cannot be parsed is kept
unchanged under `unreadable`. Items that are not seen again, or exceed a cap, go to the archive.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, StoreError
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
from holdfast.store.project import Project

FORMAT = 1
FILE = "session.json"
CACHE = "scan.cache"
TITLE = "## Project Knowledge"
SECTIONS = ("Conventions", "Patterns", "Facts", "Files")
_OLD_WEIGHT = 0.3  # the weight of an item's old confidence when it is seen again
_MOST_EVIDENCE = 4
_MOST_PATTERN_FILES = 12
_MOST_SOURCES = 20
_SHORT_SESSION = 12
_LONGEST_FILES = 20  # more notes on files than a prompt can use
# Lines of each section in turn, for a limited length.
_EVERY = {"Conventions": 3, "Facts": 2, "Patterns": 1, "Files": 1}
_Line = tuple[str, str]  # section, text
_KINDS: tuple[tuple[str, type], ...] = (
    ("conventions", Convention),
    ("patterns", Pattern),
    ("facts", LearnedFact),
    ("files", FileNote),
)
_OWN = frozenset({*(kind for kind, _ in _KINDS), "archive", "looked", "scanned_at", "unreadable"})


def known(project: Project) -> bool:
    """Whether anything was ever stored."""
    return (project.memory / FILE).exists()


def load(project: Project) -> Knowledge:
    """The stored knowledge; empty if there is none. Raises StoreError if the file is not a JSON object."""
    path = project.memory / FILE
    return _decoded(_document(files.read(path), str(path)))[0]


def change(project: Project, decide: Callable[[Knowledge], Knowledge]) -> Knowledge:
    """Replaces the stored knowledge with the result of `decide`, and returns it."""
    path = project.memory / FILE
    with files.lock(project.lock("knowledge")) as held:
        data_before = files.read(path)
        document = _document(data_before, str(path))
        number = document.get("format", FORMAT)
        if not isinstance(number, int) or number > FORMAT:
            raise FormatTooNew(
                f"was written by a newer holdfast (format {number}, this one knows {FORMAT})",
                where=str(path),
                fix="Upgrade holdfast",
            )
        current, unreadable = _decoded(document)
        changed = decide(current)
        if changed != current or data_before is None:
            data = (
                msgspec.json.format(msgspec.json.encode(_encoded(document, changed, unreadable)), indent=1)
                + b"\n"
            )
            files.replace_held(held, path, data, files.digest(data_before))
    return changed


def _document(data: bytes | None, where: str) -> dict[str, Any]:
    if data is None or not data.strip():
        return {}
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise StoreError(
            f"is not JSON: {error}",
            where=where,
            fix="Correct it, or move it away: holdfast know scan makes a new one",
        ) from error
    if not isinstance(document, dict):
        raise StoreError("holds no JSON object", where=where, fix="Move it away")
    return document


def _decoded(document: dict[str, Any]) -> tuple[Knowledge, list[Any]]:
    table = _typed(document, "knowledge", dict) or {}
    unreadable = list(_typed(table, "unreadable", list) or [])
    knowledge = Knowledge(
        now=_items(table, unreadable),
        archive=_items(_typed(table, "archive", dict) or {}, unreadable),
        looked=_converted(table.get("looked"), Looked) or Looked(),
        scanned_at=float(_typed(table, "scanned_at", int, float) or 0.0),
    )
    return knowledge, unreadable


def _typed(table: dict[str, Any], name: str, *kinds: type) -> Any:
    value = table.get(name)
    return value if isinstance(value, kinds) else None


def _items(table: dict[str, Any], unreadable: list[Any]) -> Items:
    kinds: dict[str, tuple[Any, ...]] = {}
    for kind, struct in _KINDS:
        items = []
        for value in _typed(table, kind, list) or []:
            item = _converted(value, struct)
            if item is None:
                unreadable.append({"kind": kind, "item": value})
            else:
                items.append(item)
        kinds[kind] = tuple(items)
    return Items(**kinds)


def _converted(value: Any, struct: type) -> Any:
    try:
        return msgspec.convert(value, struct)
    except (msgspec.ValidationError, TypeError):
        return None


def _encoded(document: dict[str, Any], new: Knowledge, unreadable: list[Any]) -> dict[str, Any]:
    table = _typed(document, "knowledge", dict) or {}
    foreign = {key: value for key, value in table.items() if key not in _OWN}
    encoded: dict[str, Any] = {
        **msgspec.to_builtins(new.now),
        "archive": msgspec.to_builtins(new.archive),
        "looked": msgspec.to_builtins(new.looked),
        "scanned_at": new.scanned_at,
        **({"unreadable": unreadable} if unreadable else {}),
        **foreign,
    }
    return {**document, "format": FORMAT, "knowledge": encoded}


def read_cache(project: Project) -> bytes:
    """The cache of the last scan; empty if there is none."""
    try:
        return files.read(project.memory / CACHE) or b""
    except StoreError:
        return b""


def write_cache(project: Project, data: bytes) -> None:
    files.replace(project.memory / CACHE, data, project.lock("knowledge"), files.ANYTHING)


def touch_cache(project: Project) -> None:
    """Records that the checkout was scanned and nothing had changed."""
    with contextlib.suppress(OSError):
        os.utime(project.memory / CACHE)


def merged(known: Knowledge, seen: Items, looked: Looked, now: float, caps: Caps) -> Knowledge:
    """Merges a full scan. `seen` are all items that the scan found, and all facts that hold."""
    current, archive = {}, {}
    for kind, _ in _KINDS:
        at = None if kind == "facts" else now
        current[kind], archive[kind] = _merged_kind(known, kind, getattr(seen, kind), at, caps)
    return Knowledge(now=Items(**current), archive=Items(**archive), looked=looked, scanned_at=now)


def with_facts(known: Knowledge, seen: Sequence[LearnedFact], caps: Caps) -> Knowledge:
    """Merges facts only. `seen` are all facts that hold; the rest stays as the last scan found it."""
    current, archived = _merged_kind(known, "facts", seen, None, caps)
    return replace(
        known, now=replace(known.now, facts=current), archive=replace(known.archive, facts=archived)
    )


def _merged_kind(
    known: Knowledge, kind: str, seen: Sequence[Any], now: float | None, caps: Caps
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The current items, the most useful first, and the archived ones; each item is in one of the two."""
    current: dict[tuple[str, ...], Any] = {item.key: item for item in getattr(known.now, kind)}
    archived: dict[tuple[str, ...], Any] = {item.key: item for item in getattr(known.archive, kind)}
    holding: dict[tuple[str, ...], Any] = {}
    for item in seen:
        old = current.get(item.key) or archived.pop(item.key, None)
        item = _AGAIN[kind](old, item) if old is not None else item
        holding[item.key] = item if now is None else replace(item, confirmed=now)
    for key, old in current.items():
        if key in holding:
            continue
        if _is_ours(old):
            archived[key] = old  # a full scan did not find it again
        else:
            holding[key] = old
    for key in holding:
        archived.pop(key, None)
    # A fact that only sessions stated, and no session states now, was forgotten with them: remove it completely.
    archive = [old for old in archived.values() if not _is_of_sessions(old)]
    rank, cap = _RANKS[kind], getattr(caps, kind)
    # The items confirmed last stay; among equals, the more useful ones.
    ordered = sorted(sorted(holding.values(), key=rank), key=lambda item: -item.confirmed)
    return tuple(sorted(ordered[:cap], key=rank)), (*archive, *ordered[cap:])


def _is_ours(item: Any) -> bool:
    """Whether an item came from a scan or from session records, so that these can also remove it."""
    return bool(item.sources) if isinstance(item, LearnedFact) else item.by == SCAN


def _is_of_sessions(item: Any) -> bool:
    return isinstance(item, LearnedFact) and bool(item.sources) and "user" not in item.sources


def _again_convention(old: Convention, new: Convention) -> Convention:
    evidence = tuple(dict.fromkeys((*new.evidence, *old.evidence)))[:_MOST_EVIDENCE]
    return replace(new, confidence=_confidence(old.confidence, new.confidence), evidence=evidence)


def _again_pattern(old: Pattern, new: Pattern) -> Pattern:
    files = tuple(dict.fromkeys((*new.files, *old.files)))[:_MOST_PATTERN_FILES]
    return replace(new, confidence=_confidence(old.confidence, new.confidence), files=files)


def _again_fact(old: LearnedFact, new: LearnedFact) -> LearnedFact:
    sources = tuple(dict.fromkeys((*old.sources, *new.sources)))[-_MOST_SOURCES:]
    earliest = min(filter(None, (old.timestamp, new.timestamp)), default="")
    return replace(new, sources=sources, timestamp=earliest, confirmed=max(old.confirmed, new.confirmed))


# By kind: how to merge a new item with the known one, and the order of items.
_AGAIN: dict[str, Callable[[Any, Any], Any]] = {
    "conventions": _again_convention,
    "patterns": _again_pattern,
    "facts": _again_fact,
    "files": lambda old, new: new,
}
_RANKS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "conventions": usefulness,
    "patterns": lambda one: (-one.confidence, one.name),
    "facts": lambda one: (-one.confidence, one.statement),
    "files": lambda one: (not one.is_hot, -one.changes, -one.complexity, one.path),
}


def _confidence(old: float, new: float) -> float:
    return round(_OLD_WEIGHT * old + (1 - _OLD_WEIGHT) * new, 2)


def render(items: Items, most: int | None = None) -> str:
    """Markdown for a system prompt, the most useful items first: at most `most` characters, and whole items only."""
    lines = list(_lines(items))
    if most is None:
        return _written(lines, {})
    chosen: list[_Line] = []
    for line in lines:
        if len(_written([*chosen, line], _left_out(items, [*chosen, line]))) <= most:
            chosen.append(line)
    text = _written(chosen, _left_out(items, chosen))
    return text if len(text) <= most else ""


def _lines(items: Items) -> Iterator[_Line]:
    """All items, the sections in turn, so that a short text has the best items of each."""
    facts = sorted(items.facts, key=lambda fact: (-fact.confidence, -fact.confirmed))
    patterns = sorted(items.patterns, key=lambda pattern: (-pattern.confidence, pattern.name))
    notes = sorted(items.files, key=lambda note: (not note.is_hot, -note.changes, -note.complexity))[
        :_LONGEST_FILES
    ]
    waiting = {
        "Conventions": [convention_line(item) for item in sorted(items.conventions, key=usefulness)],
        "Facts": [fact_line(item) for item in facts],
        "Patterns": [pattern_line(item) for item in patterns],
        "Files": [file_line(item) for item in notes if item.is_hot or item.complexity],
    }
    while any(waiting.values()):
        for section, turns in _EVERY.items():
            for text in waiting[section][:turns]:
                yield section, text
            del waiting[section][:turns]


def _left_out(items: Items, chosen: list[_Line]) -> Counter[str]:
    lists = (items.conventions, items.patterns, items.facts, items.files[:_LONGEST_FILES])
    counts = Counter(dict(zip(SECTIONS, map(len, lists), strict=True)))
    return counts - Counter(section for section, _ in chosen)


def _written(lines: list[_Line], left_out: Mapping[str, int]) -> str:
    parts = [TITLE]
    for section in SECTIONS:
        if texts := [text for line_section, text in lines if line_section == section]:
            parts += [f"### {section}", *texts]
    if left_out:
        counts = [f"{n} {name.lower() if n != 1 else name.lower()[:-1]}" for name, n in left_out.items()]
        parts.append(f"(left out: {', '.join(counts)})")
    elif not lines:
        parts.append("(nothing known yet)")
    return "\n".join(parts) + "\n"


def convention_line(one: Convention) -> str:
    scope = f" ({one.scope})" if one.scope else ""
    certainty = f"confidence: {one.confidence:.2f}"
    files = len({evidence.path for evidence in one.evidence})
    if one.counter:
        certainty += f", {one.count:,} of {one.count + one.counter:,}"
    elif files:
        certainty += f", {_files(files)}"
    return f"- {title(one.category)}{scope}: {_flat(one.pattern)} ({certainty})"


def pattern_line(one: Pattern) -> str:
    name = one.name[:1].upper() + one.name[1:]
    file_count = _files(one.count or len(one.files))
    return f"- {_flat(name)}: {_flat(one.description)} ({file_count}, confidence: {one.confidence:.2f})"


def _files(count: int) -> str:
    return f"{count:,} file{'s' * (count != 1)}"


def fact_line(one: LearnedFact) -> str:
    session = f" (session {one.session[:_SHORT_SESSION]})" if one.session else ""
    return f"- [{one.category}] {_flat(one.statement)}{session}"


def file_line(one: FileNote) -> str:
    words = [one.language, "test" if one.is_test else "", f"complexity {one.complexity}"]
    words.append(f"hot, {one.changes} changes" if one.is_hot else "")
    neighbours = f"; changes with {', '.join(one.neighbours[:2])}" if one.neighbours else ""
    return f"- {one.path} ({', '.join(filter(None, words))}{neighbours})"


def title(category: str) -> str:
    words = category.replace("_", " ")
    return words[:1].upper() + words[1:]


def _flat(text: str) -> str:
    return " ".join(text.split())
