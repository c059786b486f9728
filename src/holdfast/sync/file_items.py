"""Lessons, lists with a line for each item, and whole files as items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import HoldfastError, NameRefused
from holdfast.core.names import safe_name
from holdfast.lessons.choices import (
    CHOICES,
    MOST_SESSIONS,
    RECORD,
    Choices,
    Rejected,
    decode_choices,
    encode_choices,
    encode_record,
    read_record,
)
from holdfast.lessons.store import CANDIDATES, parse_stored
from holdfast.store.line_grammar import readable
from holdfast.store.sections import decode_text, encode_text
from holdfast.store.versions import Versions
from holdfast.sync.items import REASON, Items, Place, Read, built_in, key_of, parts_of, plain, short_hash
from holdfast.sync.statement_items import values


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
            elif kind == "active":
                read.absent.add("lesson/")
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
                read.items[key_of("line", name, short_hash(_canonical(value).decode()))] = value
        return read

    def _lines(self, name: str) -> Iterator[bytes]:
        data = files.read(self._place.project.memory / name) or b""
        return (line for line in data.split(b"\n") if line.strip())

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        for name in _LISTS:
            known = {parts_of(key)[2] for key in self.read().items if parts_of(key)[1] == name}
            new = [
                _canonical(body)
                for key, body in changed.items()
                if parts_of(key)[1] == name and isinstance(body, dict) and parts_of(key)[2] not in known
            ]
            if new:
                data = b"".join(line + b"\n" for line in new)
                lock = self._place.project.lock("answered" if name.startswith("answered") else "memory")
                files.append(self._place.project.memory / name, data, lock)


def _canonical(value: Any) -> bytes:
    """The same bytes for the same line, in whatever order another version or machine writes its parts."""
    return msgspec.json.encode(value, order="sorted")


class Taught:
    """By rule, as a hash: the sessions that taught it, and when a person first saw it. A proposed lesson becomes active
    from these, so it does on all machines of one person. How often a lesson was injected stays on its machine.
    """

    prefix = "taught/"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._folder = place.project.memory / "lessons"

    def read(self) -> Read:
        record = read_record(self._folder)
        return Read(
            {
                key_of("taught", rule): _taught(record.captured.get(rule, ()), record.shown.get(rule))
                for rule in {**record.captured, **record.shown}
            }
        )

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        with files.lock(self._place.project.lock("memory")) as held:
            before = read_record(self._folder)
            captured, shown = dict(before.captured), dict(before.shown)
            for key, body in changed.items():
                try:
                    came = msgspec.convert(body, _Taught)
                except msgspec.ValidationError:
                    continue
                rule = parts_of(key)[1]
                if came.sessions:
                    captured[rule] = tuple(sorted({*captured.get(rule, ()), *came.sessions})[:MOST_SESSIONS])
                if came.shown is not None:
                    shown[rule] = min(came.shown, shown.get(rule, came.shown))
            after = msgspec.structs.replace(before, captured=captured, shown=shown)
            if after != before:
                files.make_private(self._folder)
                files.replace_held(held, self._folder / RECORD, encode_record(after), files.ANYTHING)


class _Taught(Struct, frozen=True):
    sessions: tuple[str, ...] = ()
    shown: float | None = None


def _taught(sessions: Iterable[str], shown: float | None) -> dict[str, Any]:
    return {"sessions": sorted(sessions), **({} if shown is None else {"shown": shown})}


class ChosenLessons:
    """What a person chose about lessons, one by one: muted, rejected, shared."""

    prefix = "choice/"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._path = place.project.memory / "lessons" / CHOICES

    def read(self) -> Read:
        if not self._path.parent.is_dir():
            return Read(absent={"choice/"})
        try:
            choices = decode_choices(files.read(self._path), self._path)
        except HoldfastError as error:
            return Read(problems=[error.line()])
        read = Read(whole={"choice/"})
        for name, until in choices.muted.items():
            read.items[key_of("choice", "muted", name)] = plain({"until": until})
        for rejected in choices.rejected:
            read.items[key_of("choice", "rejected", rejected.name, short_hash("\n".join(rejected.rules)))] = (
                built_in(rejected)
            )
        for name in choices.shared:
            read.items[key_of("choice", "shared", name)] = {}
        return read

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        muted: dict[str, float | None] = {}
        rejected: list[Rejected] = []
        shared: list[str] = []
        for key, body in everything().items():
            _, kind, name, *_ = [*parts_of(key), ""]
            if kind == "muted" and isinstance(body, dict):
                until = body.get("until")
                muted[name] = float(until) if isinstance(until, int | float) else None
            elif kind == "rejected":
                rejected += values({key: body}, Rejected)
            elif kind == "shared":
                shared.append(name)
        rejected.sort(key=lambda one: (one.at, one.name))
        with files.lock(self._place.project.lock("memory")) as held:
            before = files.read(self._path)
            try:
                decode_choices(before, self._path)
            except HoldfastError:
                return  # what cannot be read is not replaced
            after = encode_choices(
                Choices(
                    muted=dict(sorted(muted.items())), rejected=tuple(rejected), shared=tuple(sorted(shared))
                )
            )
            if before != after:
                _put(self._place, held, self._place.project.memory, self._path, before, after)


_FILES = ("style.md", "projects.json", "shared.json")


class Files:
    """What has no items: the operating manual, rules for projects."""

    prefix = "file/"

    def __init__(self, place: Place) -> None:
        self._place = place

    def read(self) -> Read:
        read = Read()
        for name in _FILES:
            data = files.read(self._place.project.memory / name)
            if not data:
                read.absent.add(key_of("file", name))
            else:
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
