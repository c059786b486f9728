"""Prepares what prompts for code are told beside lessons: the person's lines of style.md, and the convention that fits.

Both become rows of the table `lesson`, among which `hooks/lesson_lines.py` chooses. Lines of style.md hold whatever is
asked, the best fitting first. A convention is told to a prompt with a word that calls for it, at most one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from holdfast.briefing.file_pointers import prompt_words
from holdfast.briefing.lesson_lines import LONGEST_RULE, flat
from holdfast.core.errors import HoldfastError
from holdfast.core.tokens import count_tokens
from holdfast.guard.hidden_text import visible, why_line_refused
from holdfast.hooks.lesson_lines import ANYTHING, CONVENTION_TOKENS, ONE_WORD
from holdfast.knowledge import store as knowledge
from holdfast.memory.reference import rules_of_style
from holdfast.memory.store import MemoryStore
from holdfast.model.knowledge import Convention
from holdfast.model.memory import content_id
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_LINES = 100
FEWEST_FILES = 3
SURE = 0.85
CLEARLY = 3  # times as many files as the next one of its kind
_NEXT = "(SELECT coalesce(max(position), -1) + 1 FROM lesson)"
_ROW = f"INSERT INTO lesson VALUES ({_NEXT}, ?, ?, ?, '', ?, '', ?, ?, 0, ?)"
_SERVER = "route router endpoint handler api middleware controller"
_DATA = "table migration query database schema column sql"
# Words of a prompt that will meet a library of this kind.
CALLS_FOR = {
    "authentication": "login auth authentication password",
    "authorization": "permission role authorization",
    "background_jobs": "queue job background worker",
    "cli": "cli subcommand flag",
    "configuration": "configuration config setting",
    "data_fetching": "fetch loading refetch",
    "data_frames": "dataframe csv column",
    "database": _DATA,
    "dates": "date timestamp timezone calendar",
    "dependency_injection": "inject injection",
    "error_library": "exception",
    "forms": "form field",
    "http_client": "http fetch webhook download",
    "logging": "log logging logger",
    "mocking": "mock stub fake",
    "orm": _DATA,
    "property_tests": "property fuzz",
    "retries": "retry backoff",
    "router": _SERVER,
    "serialization": "serialize serialization deserialize",
    "settings": "setting config configuration",
    "state_management": "state store reducer",
    "styling": "css styling theme",
    "task_queue": "queue job background worker",
    "templates": "template",
    "ui_framework": "component widget",
    "validation": "validate validation schema",
    "web_framework": _SERVER,
}


def write_style(db: sqlite3.Connection, machine: Machine, project: Project, instructions: str) -> None:
    """Adds the rows. What the agent's own files say already (`instructions`, flat and in lower case) is left out."""
    for line in list(_lines(machine, project, instructions))[:MOST_LINES]:
        weighed = " ".join(f"{word}:1" for word in sorted(set(prompt_words(line))))
        row = (content_id("S", line), "style.md", "correction", line, weighed, ANYTHING, "your style.md")
        db.execute(_ROW, row)
    for convention in _conventions(project):
        text = flat(visible(machine.clean(_line(convention))))
        if convention.pattern.casefold() in instructions or count_tokens(text) > CONVENTION_TOKENS:
            continue
        weighed = " ".join(f"{word}:1" for word in prompt_words(CALLS_FOR[convention.category]))
        where = next((evidence.path for evidence in convention.evidence), "")
        reason = f"a convention of this repository, shown by {flat(visible(machine.clean(where)))}"
        db.execute(_ROW, ("", convention.category, "convention", text, weighed, ONE_WORD, reason))


def _lines(machine: Machine, project: Project, instructions: str) -> Iterator[str]:
    try:
        text = MemoryStore(project, project.title).style()
    except (HoldfastError, OSError):
        return  # `doctor` reports it
    for rule in rules_of_style(text):
        line = flat(visible(machine.clean(rule)))
        if not line or len(line) > LONGEST_RULE or why_line_refused(line):
            continue
        if line.casefold().rstrip(".") not in instructions:
            yield line


def _conventions(project: Project) -> Iterator[Convention]:
    """Those that leave no doubt: seen in several files, with no rival of their kind that is nearly as frequent."""
    try:
        known = knowledge.load(project).now.conventions
    except (HoldfastError, OSError):
        return
    for one in known:
        rivals = [
            other.count
            for other in known
            if other is not one and (other.category, other.scope) == (one.category, one.scope)
        ]
        is_clear = one.count >= FEWEST_FILES and one.count >= CLEARLY * max(rivals, default=0)
        if one.category in CALLS_FOR and one.confidence >= SURE and is_clear:
            yield one


def _line(one: Convention) -> str:
    scope = f" ({one.scope})" if one.scope else ""
    return f"{one.category.replace('_', ' ')}{scope}: {one.pattern}, {one.count:,} files"
