"""Prepares the commands that prompts are offered: those that several sessions ran, still defined, and no guide states.

`hooks/offers.py` chooses among them, by the sessions that a prompt is similar to (docs/research/pointers.md).
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Collection

from holdfast.briefing.lesson_lines import flat
from holdfast.briefing.lesson_proposals import lived_here
from holdfast.briefing.start import is_defined, is_stated
from holdfast.core.patterns import lazy_regex
from holdfast.guard.hidden_text import visible, why_line_refused
from holdfast.lessons.commands import usual_commands
from holdfast.store.machine import Machine
from holdfast.store.project import Project

# As long as no session was recorded since, this table is copied with those of the postings.
USUAL = (
    "CREATE TABLE usual (command TEXT PRIMARY KEY, rate REAL NOT NULL, sessions BLOB NOT NULL) WITHOUT ROWID"
)
SCHEMA = (
    "CREATE TABLE command (text TEXT PRIMARY KEY, rate REAL NOT NULL, sessions BLOB NOT NULL) WITHOUT ROWID"
)
MOST_COMMANDS = 20
_QUOTED = lazy_regex(r"`([^`]+)`")


def write_usual(db: sqlite3.Connection, project: Project) -> None:
    """Writes what sessions ran, with their numbers in the table `asked`."""
    numbers = dict(db.execute("SELECT session, number FROM asked").fetchall())
    for usual in usual_commands(lived_here(project))[:MOST_COMMANDS]:
        ran_in = array("I", sorted(numbers[session] for session in usual.sessions if session in numbers))
        row = (usual.command, usual.rate, ran_in.tobytes())
        db.execute("INSERT OR IGNORE INTO usual VALUES (?, ?, ?)", row)


def write_commands(
    db: sqlite3.Connection, machine: Machine, project: Project, silenced: Collection[str], guides: str
) -> None:
    """Writes those of them that may be told. `silenced` are rules that must not be; `guides` is in lower case."""
    db.execute(SCHEMA)
    silenced_commands = {quoted for rule in silenced for quoted in _QUOTED.findall(rule)}
    rows = db.execute("SELECT command, rate, sessions FROM usual").fetchall()
    lived = lived_here(project) if rows else []
    for command, rate, sessions in rows:
        # A command that redaction or the guard would change is none that anyone can run.
        is_plain = flat(visible(machine.clean(command))) == command and "`" not in command
        if not is_plain or why_line_refused(command) or command in silenced_commands:
            continue
        if not is_stated(command, guides) and is_defined(project, command, lived):
            db.execute("INSERT INTO command VALUES (?, ?, ?)", (command, rate, sessions))
