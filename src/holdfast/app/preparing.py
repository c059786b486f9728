"""Prepares what hooks read: one small SQLite file in which every decision that takes thought is already made.

It is derived and deletable. docs/hot-path.md describes it; `hot/prepared.py` reads it.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase, translate
from pathlib import Path

from msgspec import Struct

from holdfast.app.next_session import told_next
from holdfast.app.switches import Switches, switches_of
from holdfast.app.wiring import Machine
from holdfast.guard.fence import wrap
from holdfast.model.session import DistilledSession
from holdfast.store import files
from holdfast.store.capture import CaptureStore
from holdfast.store.layout import Project
from holdfast.text.tokens import count_tokens

HOT_FORMAT = "1"
SOURCES = ("startup", "resume", "compact")
LATEST = 100  # sessions that the digest may draw on

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE place (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE off (path TEXT PRIMARY KEY, capture INTEGER NOT NULL, inject INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE exclude (pattern TEXT PRIMARY KEY, regex TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE digest (
    source TEXT NOT NULL, branch TEXT NOT NULL, text TEXT NOT NULL, tokens INTEGER NOT NULL,
    reasons TEXT NOT NULL, PRIMARY KEY (source, branch)) WITHOUT ROWID;
"""


class Line(Struct, frozen=True):
    """A line to inject, and why it is worth its tokens."""

    text: str
    reason: str


Digests = Mapping[tuple[str, str], Sequence[Line]]
"""Lines by source (startup, resume, compact) and branch; the branch '' is for every branch without its own."""


def prepare(machine: Machine, project: Project, digests: Digests | None = None) -> Path:
    """Writes `hot.db` anew. Without digests they are made from the latest sessions."""
    lines = default_digests(project) if digests is None else digests
    data = _database(machine, switches_of(project), lines)
    path = project.memory / "hot.db"
    files.replace(path, data, project.lock("hot"), files.ANYTHING)
    return path


def prepare_if_enabled(machine: Machine, project: Project, digests: Digests | None = None) -> bool:
    """For after each save: a project without hooks needs no prepared file."""
    if not switches_of(project).enabled:
        return False
    prepare(machine, project, digests)
    return True


def default_digests(project: Project) -> Digests:
    """After a compaction what was said at the start is gone, so it is said again; a resumed session still has it."""
    lines = [Line(text, "from this project's latest sessions") for text in told_next(_records(project))]
    return {("startup", ""): lines, ("compact", ""): lines} if lines else {}


def _records(project: Project) -> list[DistilledSession]:
    if not project.capture.exists():
        return []
    store = CaptureStore(project.capture)
    try:
        # What ran without anybody there is remembered, and is not what the next session goes on with.
        return [record for record in store.records(LATEST) if not record.headless]
    finally:
        store.close()


def _database(machine: Machine, switches: Switches, digests: Digests) -> bytes:
    """Built in memory and handed over as bytes: the file is replaced as a whole and never seen half written."""
    db = sqlite3.connect("file::memory:", uri=True)
    try:
        db.executescript(_SCHEMA)
        config = machine.home / "config.toml"
        meta = {
            "format": HOT_FORMAT,
            "enabled": "1" if switches.enabled else "0",
            "config": stamp(config),
            "prepared": machine.now().isoformat(timespec="seconds"),
        }
        db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        db.executemany("INSERT INTO place VALUES (?)", ((path,) for path in switches.places))
        db.executemany(
            "INSERT INTO off VALUES (?, ?, ?)", ((s.path, s.capture, s.inject) for s in switches.off)
        )
        patterns = dict.fromkeys(machine.settings().exclude)
        db.executemany(
            "INSERT INTO exclude VALUES (?, ?)",
            ((pattern, exclusion(pattern, machine.user_home)) for pattern in patterns),
        )
        for (source, branch), lines in digests.items():
            if lines:
                db.execute("INSERT INTO digest VALUES (?, ?, ?, ?, ?)", (source, branch, *_told(lines)))
        db.commit()
        return db.serialize()
    finally:
        db.close()


def _told(lines: Sequence[Line]) -> tuple[str, int, str]:
    """Each line flat and harmless inside a fence, so that the hook need only put the fence around."""
    flat = [Line(" ".join(line.text.split()), line.reason) for line in lines]
    text = "\n".join(wrap([line.text for line in flat], "000000").split("\n")[1:-1])
    return text, count_tokens(text), json.dumps([line.reason for line in flat], ensure_ascii=False)


def stamp(path: Path) -> str:
    """The same as in `hot/hook.py`: what tells that a file is still the one that was read."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"


def exclusion(pattern: str, home: Path) -> str:
    """A pattern of `exclude` as a regular expression for `re.match` that says what `Settings.excludes` says."""
    absolute = str(home / pattern[2:]) if pattern.startswith("~/") else pattern
    base = absolute.removesuffix("/**").removesuffix("/").replace("\\", "/")
    whole = Path(absolute).as_posix()
    parts = whole.strip("/").split("/")
    if whole.startswith("/") or whole[1:2] == ":":
        ways = [whole[: len(whole) - len(whole.lstrip("/"))] + _glob(parts)]
    else:
        # A relative pattern may end anywhere; to pathlib the root is a part like any other, named `/`.
        ways = [f".*/{_glob(parts)}", *([f"/{_glob(parts[1:])}"] if fnmatchcase("/", parts[0]) else [])]
    if "/" in ways or parts == [""]:
        return ""  # the root itself, and everything is below it
    return rf"(?:{'|'.join([*([re.escape(base)] if base else []), *ways])})(?:/.*)?\Z"


def _glob(parts: Sequence[str]) -> str:
    """`*`, `?` and `[...]` as pathlib takes them: within one part of a path, and no part is empty."""
    return "/".join(f"(?=[^/]){_glob_part(part)}" for part in parts)


def _glob_part(part: str) -> str:
    signs = []
    position = 0
    while position < len(part):
        sign = part[position]
        end = _end_of_set(part, position) if sign == "[" else -1
        if sign == "*":
            signs.append("[^/]*")
        elif sign == "?":
            signs.append("[^/]")
        elif end > 0:
            signs.append("(?!/)" + translate(part[position : end + 1])[4:-3])
            position = end
        else:
            signs.append(re.escape(sign))
        position += 1
    return "".join(signs)


def _end_of_set(part: str, start: int) -> int:
    """Where a set ends; a bracket that comes first in it belongs to it."""
    first = start + 2 if part[start + 1 : start + 2] == "!" else start + 1
    return part.find("]", first + 1)
