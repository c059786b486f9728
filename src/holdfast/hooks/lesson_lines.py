"""Chooses the lessons for a prompt: the user's corrections and style.md, commands that it implies, rules that match its
words, and the convention that it calls for.

`briefing/lesson_lines.py` and `briefing/style_lines.py` prepare the rows; here words are compared, and the files that a
chosen lesson depends on are checked with stat. If one has changed, the lesson is left out and the child checks it.
"""

from __future__ import annotations

import os

from holdfast.core.words import names_file, words
from holdfast.hooks.start_lines import count_tokens

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    Lines = list[tuple[str, str]]  # text and reason
    Row = tuple[str, str, str, str, str, str, int, int, str]

LESSON_TOKENS = 100
CORRECTION_TOKENS = 50  # a share of their own, so that corrections and commands do not crowd each other out
COMMAND_TOKENS = 50
CONVENTION_TOKENS = 24  # for the one that is told
MOST_LESSONS = 6
SHARE = 0.5  # of a rule's words, by rarity, that the prompt must contain
CORRECTION, COMMAND, PROSE, CONVENTION = range(4)
_TYPES = {"correction": CORRECTION, "command": COMMAND, "convention": CONVENTION}
_BUDGETS = {
    CORRECTION: CORRECTION_TOKENS,
    COMMAND: COMMAND_TOKENS,
    PROSE: LESSON_TOKENS,
    CONVENTION: CONVENTION_TOKENS,
}
_COLUMNS = "id, kind, job, text, files, words, reach, places, reason"
ONE_WORD, ANYTHING = 1, 2  # how much of a lesson the prompt must contain: one word, nothing; 0: a good part
# Words of a prompt that will need a command of this job.
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
    """The lines; how many did not fit the budget; whether a file that a lesson depends on has changed."""

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
    """Chooses lessons. `said` are the content words of the prompt, `heard` the lines that the session has seen."""
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
        if type_ == CONVENTION and of_type[type_] < CONVENTION_TOKENS:
            continue  # one is told
        line = f"{row[3]} [{row[0]}]" if row[0] else row[3]
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
    """The type of the line, how well the lesson fits this prompt, and why; None when it does not."""
    _, kind, job, _, files, weighed, reach, _, _ = row
    type_ = _TYPES.get(kind, PROSE)
    if trigger := next((word for word in _IMPLIED.get(job, ()) if word in plain), ""):
        return type_, 2.0, f'the prompt says "{trigger}"'
    if files and (
        path_named := next((path for path in files.split("\n") if path and names_file(text, path)), "")
    ):
        return type_, 2.0, f"the prompt names {path_named}"
    parts = [part.partition(":") for part in weighed.split()]
    shared = [word for word, _, _ in parts if word in said]
    weights = {word: float(weight) for word, _, weight in parts}
    share = sum(weights[word] for word in shared) / (sum(weights.values()) or 1.0)
    if reach == ANYTHING:
        why = "it holds whatever is asked" if type_ == CORRECTION else "changes are checked with it"
        return type_, 1.0 + share, why
    if not shared:
        return None
    if (share >= SHARE and len(shared) > 1) or (reach == ONE_WORD and shared):
        return type_, share, ", ".join(sorted(shared)[:3])
    return None


def _command(rule: str) -> str:
    """The command that a rule names, which the start lines may have given in other words."""
    return rule.split("`")[1] if rule.count("`") > 1 else rule


def _holds(db: sqlite3.Connection, row: Row, root: str | None) -> bool:
    """Whether the files that a lesson depends on are unchanged in this work tree since it was prepared."""
    if row[7] == 0 or root is None:
        return True
    rows = db.execute(
        "SELECT path, size, mtime_ns FROM stamp WHERE root = ? AND lesson = ?", (root, row[0])
    ).fetchall()
    return len(rows) == row[7] and unchanged(root, rows)


def unchanged(root: str, places: Iterable[tuple[str, int, int]]) -> bool:
    """False if any file differs, is missing or cannot be read: then the lesson is left out this time."""
    for path, size, mtime_ns in places:
        try:
            status = os.stat(f"{root}/{path}")
        except (OSError, ValueError):
            return False
        if status.st_mtime_ns != mtime_ns or status.st_size != size:
            return False
    return True
