"""Writes the SQLite file that hooks read, in which every expensive decision is already made.

It is derived and can be deleted. docs/contributing/hot-path.md describes it; `hooks/prepared.py` reads it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase, translate
from pathlib import Path

from holdfast.briefing.file_lines import file_lines, words_of_files
from holdfast.briefing.lesson_lines import flat, instructions
from holdfast.briefing.moments import Moment, words_of
from holdfast.briefing.prompt import write_prompting
from holdfast.briefing.start import Briefings, briefings_of
from holdfast.briefing.told_index import without_pipe
from holdfast.briefing.told_sources import update_told
from holdfast.briefing.watch import watch_rows
from holdfast.core import files
from holdfast.core.place import stamp
from holdfast.core.tokens import count_tokens
from holdfast.hooks import prefilter
from holdfast.hooks.hand_edits import FOLDERS, MARK, mark_of
from holdfast.lessons.states import lesson_store
from holdfast.memory.decisions import FOLDER as DECISIONS
from holdfast.memory.read import ProjectMemory, known_projects
from holdfast.model.line import Line
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import Switches, switches_of

HOT_FORMAT = "2"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE off (path TEXT PRIMARY KEY, capture INTEGER NOT NULL, inject INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE exclude (pattern TEXT PRIMARY KEY, regex TEXT NOT NULL, start TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE digest (
    source TEXT NOT NULL, branch TEXT NOT NULL, text TEXT NOT NULL, tokens INTEGER NOT NULL,
    reasons TEXT NOT NULL, PRIMARY KEY (source, branch)) WITHOUT ROWID;
CREATE TABLE since (
    at REAL NOT NULL, began REAL NOT NULL, session TEXT NOT NULL, branch TEXT NOT NULL, project TEXT NOT NULL,
    text TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE own (
    session TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (session, position)) WITHOUT ROWID;
CREATE TABLE moment (
    tool TEXT NOT NULL, key TEXT NOT NULL, position INTEGER NOT NULL, rule TEXT NOT NULL, token TEXT NOT NULL,
    needs TEXT NOT NULL, place TEXT NOT NULL, project TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    id TEXT NOT NULL, PRIMARY KEY (tool, key, position)) WITHOUT ROWID;
CREATE TABLE project (branch TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
"""


def prepare(
    machine: Machine, project: Project, briefings: Briefings | None = None, *, resumes: bool = True
) -> Path:
    """Writes `hot.db` and `hot.words`, by default with briefings made from the current memory.

    Without `resumes` they have nothing for sessions that go on, as in a backtest.
    """
    path = without_pipe(project.memory / "hot.db")
    folders = read_folders(machine, project)
    # Before anything is read: what a person changes in the meantime is noticed at the next prompt.
    marks = {
        "current": stamp(project.memory / "current.md"),
        FOLDERS: "\n".join(folders),
        MARK: mark_of(folders),
    }
    memory = ProjectMemory(project)
    with suppress(sqlite3.Error):  # the switches of hooks must not wait until that file is repaired
        update_told(machine, project, git=False)
    contents = briefings_of(machine, project, memory, resumes=resumes) if briefings is None else briefings
    data, moments = _database(machine, memory, switches_of(project), contents, marks)
    files.replace(path, data, project.lock("hot"), files.ANYTHING)
    words = project.memory / prefilter.NAME
    pieces = b"\n".join(filter(None, (words_of(moments), words_of_files(moments))))
    files.replace(words, pieces, project.lock("hot"), files.ANYTHING)
    update_told(machine, project)
    return path


def read_folders(machine: Machine, project: Project) -> list[str]:
    """The folders whose files people may change, and hooks depend on."""
    names = dict.fromkeys((project.title, *known_projects(project)))
    projects = [project.memory / "projects" / name for name in names]
    lessons = lesson_store(machine, project).folders
    folders = [project.memory, *projects, *(folder / DECISIONS for folder in projects)]
    shared = (lessons["shared"], project.window / DECISIONS)
    return [str(folder) for folder in (*folders, lessons["personal"], lessons["local"], *shared)]


def _database(
    machine: Machine, memory: ProjectMemory, switches: Switches, told: Briefings, marks: dict[str, str]
) -> tuple[bytes, Sequence[Moment]]:
    """Builds the database in memory and returns its bytes: the file is replaced as a whole, never half written.

    Also returns the lines for tool calls.
    """
    project = memory.project
    db = sqlite3.connect("file::memory:", uri=True)
    try:
        db.executescript(_SCHEMA)
        config = machine.home / "config.toml"
        meta = {
            "format": HOT_FORMAT,
            "enabled": "1" if switches.enabled else "0",
            "config": stamp(config),
            **({"holdout": str(switches.held_share)} if switches.held_share else {}),
            **marks,
            "prepared": machine.now().isoformat(timespec="seconds"),
            **watch_rows(machine, project),
            "asked": write_prompting(db, machine, project, project.memory / "hot.db", memory),
        }
        db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        db.executemany(
            "INSERT INTO off VALUES (?, ?, ?)", ((s.path, s.capture, s.inject) for s in switches.off)
        )
        patterns = dict.fromkeys(machine.settings().exclude)
        db.executemany(
            "INSERT INTO exclude VALUES (?, ?, ?)",
            ((pattern, *exclusion(pattern, machine.user_home)) for pattern in patterns),
        )
        _insert(db, told)
        moments = (*told.moments, *file_lines(machine, memory, db, instructions(project.root)))
        _insert_moments(db, moments)
        db.commit()
        return db.serialize(), moments
    finally:
        db.close()


def _insert(db: sqlite3.Connection, told: Briefings) -> None:
    digests = {**told.digests, ("compact", ""): told.stumbles}
    db.executemany(
        "INSERT INTO digest VALUES (?, ?, ?, ?, ?)",
        ((source, branch, *_told(lines)) for (source, branch), lines in digests.items() if lines),
    )
    db.executemany(
        "INSERT INTO since VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                change.at,
                change.at if change.began is None else change.began,
                change.session,
                change.branch,
                change.project,
                flat(change.line.text),
                change.line.reason,
            )
            for change in told.since
        ),
    )
    db.executemany(
        "INSERT INTO own VALUES (?, ?, ?, ?)",
        (
            (session, number, flat(line.text), line.reason)
            for session, lines in told.own.items()
            for number, line in enumerate(lines)
        ),
    )
    db.executemany("INSERT INTO project VALUES (?, ?)", told.projects.items())


def _insert_moments(db: sqlite3.Connection, moments: Sequence[Moment]) -> None:
    db.executemany(
        "INSERT INTO moment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (_at_the_moment(number, moment) for number, moment in enumerate(moments)),
    )


def _at_the_moment(number: int, one: Moment) -> tuple[str | int, ...]:
    needs = json.dumps(one.needs, ensure_ascii=False)
    call_fields = (one.tool, one.key, number, one.rule, one.token, needs, one.place, one.project)
    return (*call_fields, flat(one.text), one.reason, one.id)


def _told(lines: Sequence[Line]) -> tuple[str, int, str]:
    text = "\n".join(flat(line.text) for line in lines)
    return text, count_tokens(text), json.dumps([line.reason for line in lines], ensure_ascii=False)


def exclusion(pattern: str, home: Path) -> tuple[str, str]:
    """A pattern of `exclude` as a regular expression for `re.match`, equivalent to `Settings.excludes`.

    Also returns the prefix of all matching directories: for others hooks need not load regular expressions.
    """
    absolute = str(home / pattern[2:]) if pattern.startswith("~/") else pattern
    base = absolute.removesuffix("/**").removesuffix("/").replace("\\", "/")
    whole = Path(absolute).as_posix()
    parts = whole.strip("/").split("/")
    start = ""
    if whole.startswith("/") or whole[1:2] == ":":
        ways = [whole[: len(whole) - len(whole.lstrip("/"))] + _glob(parts)]
        head = re.split(r"[*?[]", whole, maxsplit=1)[0]
        start = base if head.startswith(base) else head if base.startswith(head) else ""
    else:
        # A relative pattern may end anywhere; to pathlib the root is a part like any other, named `/`.
        ways = [f".*/{_glob(parts)}", *([f"/{_glob(parts[1:])}"] if fnmatchcase("/", parts[0]) else [])]
    if "/" in ways or parts == [""]:
        return "", ""  # the root itself, which contains everything
    return rf"(?:{'|'.join([*([re.escape(base)] if base else []), *ways])})(?:/.*)?\Z", start


def _glob(parts: Sequence[str]) -> str:
    """`*`, `?` and `[...]` as in pathlib: within one part of a path, and no part is empty."""
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
    """The end of a character set; a leading bracket belongs to the set."""
    first = start + 2 if part[start + 1 : start + 2] == "!" else start + 1
    return part.find("]", first + 1)
