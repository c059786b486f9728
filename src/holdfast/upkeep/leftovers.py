"""Looks for what should not be there: leftovers of what was forgotten, and a home that others can open.

Of a forgotten text only a hash of its words is known. It is compared with every window of as many words, so a leftover
is found without the text being stored anywhere.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import tarfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from holdfast.core import files
from holdfast.core.errors import HoldfastError
from holdfast.flows.forget_archives import archives_in, members
from holdfast.sessions.store import CaptureForgetting
from holdfast.store.denied import NAME as DENIED
from holdfast.store.denied import Denied
from holdfast.store.memory_files import CAPTURE, walk_memory
from holdfast.store.project import Project
from holdfast.store.removal import Removal, texts_in

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SQLITE = b"SQLite format 3\0"
# Sessions are named here on purpose: as tombstones, in the list itself, or so that a transcript is not read again.
_NAMES_THEM = ("ledger.md", "log.md", DENIED, CAPTURE)


def loose_home(home: Path) -> tuple[str, str] | None:
    """The level and the problem if others can open, or change, what is under `home`; None if they cannot."""
    if os.name == "nt" or not home.is_dir():
        return None
    found = home.stat()
    if found.st_uid != os.getuid():
        return (
            "problem",
            f"{home} belongs to another user, who can read and change it. chown it, or move it away.",
        )
    if not found.st_mode & _OTHERS:
        return None
    mode, fix = f"{stat.S_IMODE(found.st_mode):04o}", f"Run: chmod 700 {home}"
    if found.st_mode & _OTHERS_WRITE:
        return "problem", f"{home} has mode {mode}: others can change what your agents see. {fix}"
    return "note", f"{home} has mode {mode}: others on this machine can read it. {fix}"


def find_leftovers(home: Path, project: Project) -> Iterator[str]:
    """A line for each file that still holds what was forgotten in this project, with what to do."""
    denied = Denied(project.memory)
    if not denied:
        return
    again = "Run holdfast forget again with the same words"
    for path in _files(project):
        data = _read(path)
        if path.name != DENIED and _holds_text(denied, data, path):
            yield f"{path}: holds a text that was forgotten. {again}."
        elif not path.name.endswith(_NAMES_THEM) and "archive" not in path.parts:
            for session in sorted(denied.sessions):
                if session.encode() in data:
                    yield f"{path}: holds session {session}, which was forgotten. {_again(session)}"
    if (store := CaptureForgetting.look(project.capture)) is not None:
        with closing(store):
            for session in sorted(denied.sessions):
                if store.count(Removal(sessions=[session])):
                    yield f"{project.capture}: holds words of the forgotten session {session}. {_again(session)}"
    for path in archives_in(home):
        try:
            if any(_holds_text(denied, data, None) for data in members(path)):
                yield f"{path}: holds a text that was forgotten. {again}, or delete the archive."
        except (OSError, tarfile.TarError, EOFError):
            continue  # `restore` says what is wrong with it


def _again(session: str) -> str:
    return f"Run: holdfast forget --session {session}"


def _files(project: Project) -> Iterator[Path]:
    for root in (project.memory, project.window):
        for path, relative in walk_memory(root):
            if path.is_file() and not path.is_symlink() and not relative.startswith("locks/"):
                yield path
    for leftover in sorted(project.memory.parent.glob(f".{project.memory.name}-*")):
        yield from (path for path, _ in walk_memory(leftover) if path.is_file() and not path.is_symlink())


def _read(path: Path) -> bytes:
    try:
        return files.read(path) or b""
    except HoldfastError:
        return b""


def _holds_text(denied: Denied, data: bytes, path: Path | None) -> bool:
    return bool(denied.texts) and any(map(denied.texts.found_in, _texts(data, path)))


def _texts(data: bytes, path: Path | None) -> Iterator[str]:
    """The texts of a file, without the escapes of its format."""
    if data[:16] == _SQLITE:
        yield from _cells(data, path)
        return
    if data[:1] in (b"{", b"["):
        for line in {data, *data.splitlines()}:
            with suppress(ValueError, RecursionError):
                yield from texts_in(json.loads(line))
    yield data.decode("utf-8", "replace")


def _cells(data: bytes, path: Path | None) -> Iterator[str]:
    """The texts of a database: of the file itself, or of one that is in memory."""
    with suppress(sqlite3.Error), closing(_opened(data, path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            with suppress(sqlite3.Error):
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    for cell in row:
                        yield from _texts_of_cell(cell)


def _opened(data: bytes, path: Path | None) -> sqlite3.Connection:
    if path is not None:
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
    database = sqlite3.connect("file::memory:", uri=True)
    # A database in memory has no write-ahead log: its header must not ask for one.
    database.deserialize(data[:18] + b"\1\1" + data[20:])
    return database


def _texts_of_cell(cell: Any) -> Iterator[str]:
    if isinstance(cell, str):
        yield cell
    elif isinstance(cell, bytes) and cell:
        decode = msgspec.json.decode if cell[:1] in (b"{", b"[", b'"') else msgspec.msgpack.decode
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            yield from texts_in(decode(cell))
