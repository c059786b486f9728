"""Lessons, lists with a line for each item, and whole files as items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from holdfast.core import files
from holdfast.core.errors import HoldfastError, NameRefused
from holdfast.core.names import safe_name
from holdfast.lessons.choices import CHOICES
from holdfast.lessons.store import CANDIDATES, parse_stored
from holdfast.store.line_grammar import readable
from holdfast.store.sections import decode_text, encode_text
from holdfast.store.versions import Versions
from holdfast.sync.items import REASON, Items, Place, Read, key_of, parts_of, short_hash


class Lessons:
    """Lessons of this project on this machine, active ones and candidates: each file as it is."""

    prefix = "lesson/"

    def __init__(self, place: Place) -> None:
        self._place = place
        own = place.project.memory / "lessons"
        self._folders = {"active": own, "candidate": own / CANDIDATES}

    def read(self) -> Read:
        read = Read()
        for kind, folder in self._folders.items():
            if folder.is_dir() and not folder.is_symlink():
                read.whole.add(f"lesson/{kind}/")
            for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
                if path.is_symlink() or not path.is_file():
                    continue
                data = files.read(path) or b""
                if data:
                    read.items[key_of("lesson", kind, path.stem)] = {"text": readable(decode_text(data))}
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        memory = self._place.project.memory
        with files.lock(self._place.project.lock("memory")) as held:
            for key, body in changed.items():
                _, kind, name = parts_of(key)
                folder = self._folders.get(kind)
                try:
                    path = folder / f"{safe_name(name)}.md" if folder else None
                except NameRefused:
                    path = None
                if path is None:
                    continue
                before = files.read(path)
                after = _lesson(path, name, body)
                if after != before and (after is not None or body is None):
                    _put(self._place, held, memory, path, before, after)


def _lesson(path: Path, name: str, body: Any) -> bytes | None:
    if not isinstance(body, dict) or not isinstance(body.get("text"), str):
        return None
    data = encode_text(body["text"])
    try:
        parse_stored(path, name, data, path.name)
    except HoldfastError:
        return None
    return data


def _put(
    place: Place, held: files.Held, memory: Path, path: Path, before: bytes | None, after: bytes | None
) -> None:
    shown = path.relative_to(memory).as_posix()
    Versions(memory / "history").record_all(
        held, [(shown, before, after)], place.machine.clock.seconds(), REASON, place.group
    )
    if after is None:
        files.discard([path])
    else:
        files.make_private(path.parent)
        files.replace_held(held, path, after, files.digest(before))


_LISTS = ("dismissed.jsonl", "denied.jsonl", "answered.jsonl")


class Lines:
    """Lists that are only ever added to."""

    prefix = "line/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in _LISTS:
            for line in self._lines(name):
                try:
                    value = msgspec.json.decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    continue
                read.items[key_of("line", name, short_hash(line.decode()))] = value
        return read

    def _lines(self, name: str) -> Iterator[bytes]:
        data = files.read(self._place.project.memory / name) or b""
        return (line for line in data.split(b"\n") if line.strip())

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        for name in _LISTS:
            known = set(self._lines(name))
            new = [
                line
                for key, body in changed.items()
                if parts_of(key)[1] == name and isinstance(body, dict)
                if (line := msgspec.json.encode(body)) not in known
            ]
            if new:
                data = b"".join(line + b"\n" for line in new)
                lock = self._place.project.lock("answered" if name.startswith("answered") else "memory")
                files.append(self._place.project.memory / name, data, lock)


_FILES = ("style.md", "projects.json", "shared.json", f"lessons/{CHOICES}")


class Files:
    """What has no items: the operating manual, rules for projects, choices about lessons."""

    prefix = "file/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in _FILES:
            data = files.read(self._place.project.memory / name)
            if data:
                read.items[key_of("file", name)] = {"text": readable(decode_text(data))}
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        memory = self._place.project.memory
        with files.lock(self._place.project.lock("memory")) as held:
            for key, body in changed.items():
                name = parts_of(key)[1]
                if name not in _FILES or not isinstance(body, dict) or not isinstance(body.get("text"), str):
                    continue
                path = memory / name
                before, after = files.read(path), encode_text(body["text"])
                if name.endswith(".json") and not _is_json(after):
                    continue
                if before != after:
                    _put(self._place, held, memory, path, before, after)


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return True
