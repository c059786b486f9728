"""`session.json` of a memory: the knowledge of a repository under the key `knowledge`, and whatever else stands there.

Written whole or not at all, under a lock, on what is there at that moment. Keys that are not ours stay; an item that
cannot be read is kept as it is under `unreadable`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.errors import FormatTooNew, StoreError
from holdfast.model.knowledge import Convention, FileNote, Items, Knowledge, LearnedFact, Looked, Pattern
from holdfast.store import files
from holdfast.store.layout import Project

FORMAT = 1
FILE = "session.json"
CACHE = "scan.cache"
_KINDS: tuple[tuple[str, type], ...] = (
    ("conventions", Convention),
    ("patterns", Pattern),
    ("facts", LearnedFact),
    ("files", FileNote),
)
_OWN = frozenset(
    {"conventions", "patterns", "facts", "files", "archive", "looked", "scanned_at", "unreadable"}
)


def known(project: Project) -> bool:
    """Whether anything was ever kept."""
    return (project.memory / FILE).exists()


def load(project: Project) -> Knowledge:
    """What is known; nothing where nothing was ever kept. StoreError when the file is no JSON object."""
    path = project.memory / FILE
    return _decoded(_document(files.read(path), str(path)))[0]


def change(project: Project, decide: Callable[[Knowledge], Knowledge]) -> Knowledge:
    """Puts what `decide` makes of the stored knowledge in its place; the new one."""
    path = project.memory / FILE
    with files.lock(project.lock("knowledge")) as held:
        before = files.read(path)
        document = _document(before, str(path))
        number = document.get("format", FORMAT)
        if not isinstance(number, int) or number > FORMAT:
            raise FormatTooNew(
                f"was written by a newer holdfast (format {number}, this one knows {FORMAT})",
                where=str(path),
                fix="Upgrade holdfast",
            )
        known, unreadable = _decoded(document)
        new = decide(known)
        if new != known or before is None:
            data = (
                msgspec.json.format(msgspec.json.encode(_encoded(document, new, unreadable)), indent=1)
                + b"\n"
            )
            files.replace_held(held, path, data, files.digest(before))
    return new


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
    own = document.get("knowledge")
    own = own if isinstance(own, dict) else {}
    unreadable = list(own.get("unreadable") or []) if isinstance(own.get("unreadable"), list) else []
    archive = own.get("archive")
    now = _items(own, unreadable)
    old = _items(archive if isinstance(archive, dict) else {}, unreadable)
    looked = _converted(own.get("looked"), Looked)
    scanned = own.get("scanned_at")
    known = Knowledge(
        now=now,
        archive=old,
        looked=looked if isinstance(looked, Looked) else Looked(),
        scanned_at=float(scanned) if isinstance(scanned, int | float) else 0.0,
    )
    return known, unreadable


def _items(table: dict[str, Any], unreadable: list[Any]) -> Items:
    kinds: dict[str, tuple[Any, ...]] = {}
    for kind, struct in _KINDS:
        found = []
        values = table.get(kind)
        for value in values if isinstance(values, list) else []:
            item = _converted(value, struct)
            if item is None:
                unreadable.append({"kind": kind, "item": value})
            else:
                found.append(item)
        kinds[kind] = tuple(found)
    return Items(**kinds)


def _converted(value: Any, struct: type) -> Any:
    try:
        return msgspec.convert(value, struct)
    except (msgspec.ValidationError, TypeError):
        return None


def _encoded(document: dict[str, Any], new: Knowledge, unreadable: list[Any]) -> dict[str, Any]:
    before = document.get("knowledge")
    foreign = (
        {key: value for key, value in before.items() if key not in _OWN} if isinstance(before, dict) else {}
    )
    own: dict[str, Any] = {
        **msgspec.to_builtins(new.now),
        "archive": msgspec.to_builtins(new.archive),
        "looked": msgspec.to_builtins(new.looked),
        "scanned_at": new.scanned_at,
        **({"unreadable": unreadable} if unreadable else {}),
        **foreign,
    }
    return {**document, "format": FORMAT, "knowledge": own}


# --- what a scan leaves for the next; derived --------------------------------------------------------------


def read_cache(project: Project) -> bytes:
    """What the last scan left; empty when there is nothing to go by."""
    try:
        return files.read(project.memory / CACHE) or b""
    except StoreError:
        return b""


def write_cache(project: Project, data: bytes) -> None:
    files.replace(project.memory / CACHE, data, project.lock("knowledge"), files.ANYTHING)


def touch_cache(project: Project) -> None:
    """Says that the checkout was looked at, and nothing had changed."""
    with contextlib.suppress(OSError):
        os.utime(project.memory / CACHE)
