"""Which lessons a prompt is told: what the user corrected for good, commands that it implies, rules that fit its words.

All that takes thought was prepared (`briefing/lesson_lines.py`); here words are compared, and the places that a chosen
lesson depends on are looked at by stat alone. One that changed is not told: the child looks closer.
"""

from __future__ import annotations

import os

from holdfast.core.words import names_file, words
from holdfast.hooks.start_lines import count_tokens

TYPE_CHECKING = False  # the module of that name would have to be loaded to ask it
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    Lines = list[tuple[str, str]]  # text and reason
    Row = tuple[str, str, str, str, str, str, int, int, str]

LESSON_TOKENS = 100
CORRECTION_TOKENS = 50  # of these, so that corrections and commands do not crowd each other out
COMMAND_TOKENS = 50
MOST_LESSONS = 6
SHARE = 0.5  # of what a rule says, by rarity, that the prompt must say too
CORRECTION, COMMAND, PROSE = range(3)
_BUDGETS = {CORRECTION: CORRECTION_TOKENS, COMMAND: COMMAND_TOKENS, PROSE: LESSON_TOKENS}
_COLUMNS = "id, kind, job, text, files, words, reach, places, reason"
ONE_WORD, ANYTHING = 1, 2  # how little a prompt must say for a lesson to be told; 0: a good part of it
# What a prompt says when it will need a command of this job.
_IMPLIED = {
    "test": ("test", "tests", "testing", "tested", "spec", "specs", "coverage", "regression", "tdd"),
    "one test": ("test", "tests", "testing", "tested", "spec", "specs", "regression"),
    "build": ("build", "builds", "building", "compile", "compiles", "bundle", "package"),
    "lint": ("lint", "lints", "linter", "linting", "linted", "warnings"),
    "types": ("typecheck", "types", "typing", "mypy", "tsc", "typed"),
    "format": ("format", "formatting", "formatted", "formatter"),
    "generate": ("generate", "generated", "regenerate", "codegen", "generator"),
    "setup": ("install", "setup", "bootstrap", "dependencies", "dependency"),
    "run": ("start", "serve", "launch", "server", "dev"),
}


class Chosen:
    """The lines; how many fitted the prompt and not the budget; whether a place that one depends on has changed."""

    def __init__(self) -> None:
        self.lines: Lines = []
        self.left_out = 0
        self.changed = False


def lessons_for(
    db: sqlite3.Connection,
    text: str,
    said: Collection[str],
    heard: Collection[str],
    root: str | None,
    budget: int,
) -> Chosen:
    """`said` are the telling words of the prompt, `heard` the lines that the session was told."""
    chosen = Chosen()
    rows = db.execute(f"SELECT {_COLUMNS} FROM lesson ORDER BY position").fetchall()
    if not rows:
        return chosen
    plain = set(words(text.lower(), ())) | set(text.lower().split())
    heard_text = "\n".join(heard)
    candidates = []
    for place, row in enumerate(rows):
        if row[3] in heard_text or row[3] in text or (row[1] == "command" and _command(row[3]) in heard_text):
            continue
        fit = _fit(row, text, plain, said)
        if fit is not None:
            candidates.append((fit[0], -fit[1], place, fit[2], row))
    candidates.sort(key=lambda one: one[:3])
    left, of_type = min(budget, LESSON_TOKENS), dict(_BUDGETS)
    for type_, _, _, why, row in candidates:
        line = f"{row[3]} [{row[0]}]"
        cost = count_tokens(line)
        if cost > min(left, of_type[type_]) or len(chosen.lines) == MOST_LESSONS:
            chosen.left_out += 1
        elif not _holds(db, row, root):
            chosen.changed = True
        else:
            left -= cost
            of_type[type_] -= cost
            chosen.lines.append((line, f"{row[8]}; {why}"))
    return chosen


def _fit(row: Row, text: str, plain: Collection[str], said: Collection[str]) -> tuple[int, float, str] | None:
    """What type of line a lesson is, how well it fits this prompt, and why; None when it does not."""
    _, kind, job, _, files, weighed, reach, _, _ = row
    type_ = CORRECTION if kind == "correction" else COMMAND if kind == "command" else PROSE
    if trigger := next((word for word in _IMPLIED.get(job, ()) if word in plain), ""):
        return type_, 2.0, f'the prompt says "{trigger}"'
    if files and (
        path_named := next((path for path in files.split("\n") if path and names_file(text, path)), "")
    ):
        return type_, 2.0, f"the prompt names {path_named}"
    if reach == ANYTHING:
        return (
            type_,
            1.0,
            "it holds whatever is asked" if type_ == CORRECTION else "changes are checked with it",
        )
    parts = [part.partition(":") for part in weighed.split()]
    shared = [word for word, _, _ in parts if word in said]
    if not shared:
        return None
    weights = {word: float(weight) for word, _, weight in parts}
    share = sum(weights[word] for word in shared) / (sum(weights.values()) or 1.0)
    if (share >= SHARE and len(shared) > 1) or (reach == ONE_WORD and shared):
        return type_, share, ", ".join(sorted(shared)[:3])
    return None


def _command(rule: str) -> str:
    """The command that a rule names, which a start may have told in other words."""
    return rule.split("`")[1] if rule.count("`") > 1 else rule


def _holds(db: sqlite3.Connection, row: Row, root: str | None) -> bool:
    """Whether what a lesson depends on is as it was when it was prepared, in this work tree."""
    if row[7] == 0 or root is None:
        return True
    rows = db.execute(
        "SELECT path, size, mtime_ns FROM stamp WHERE root = ? AND lesson = ?", (root, row[0])
    ).fetchall()
    return len(rows) == row[7] and unchanged(root, rows)


def unchanged(root: str, places: Iterable[tuple[str, int, int]]) -> bool:
    """False where anything differs, is gone, or cannot be looked at: then the lesson is not told this time."""
    for path, size, mtime_ns in places:
        try:
            status = os.stat(f"{root}/{path}")
        except (OSError, ValueError):
            return False
        if status.st_mtime_ns != mtime_ns or status.st_size != size:
            return False
    return True
