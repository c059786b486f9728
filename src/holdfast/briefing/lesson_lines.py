"""Prepares the lessons that prompts are told: one row for each rule that counts, with what it takes to choose it.

Only what `lesson_states` counts is written: nothing that is muted, rejected, stale, or came with a clone and was not
agreed to. docs/pointers.md has the tables; `hooks/lesson_lines.py` chooses among the rows.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.briefing.file_pointers import prompt_words
from holdfast.briefing.guides import guide_text
from holdfast.core.errors import HoldfastError
from holdfast.core.fence import wrap
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.core.shell import simple_commands
from holdfast.guard.hidden_text import visible, why_line_refused
from holdfast.hooks.lesson_lines import ANYTHING, ONE_WORD
from holdfast.lessons.choices import Record
from holdfast.lessons.commands import STUMBLES, by_worth, purpose_named
from holdfast.lessons.fingerprint import Stamp, check, places_of
from holdfast.lessons.fingerprint_content import FileStat
from holdfast.lessons.states import ActiveLesson, counting, known_stamps, lesson_store, looked_at
from holdfast.lessons.store import Shelf
from holdfast.model.lesson import Fingerprint, Lesson
from holdfast.sessions.command_words import purpose_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project

SCHEMA = """
CREATE TABLE lesson (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, job TEXT NOT NULL,
    text TEXT NOT NULL, files TEXT NOT NULL, words TEXT NOT NULL, reach INTEGER NOT NULL, places INTEGER NOT NULL,
    reason TEXT NOT NULL);
CREATE TABLE stamp (
    root TEXT NOT NULL, lesson TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    PRIMARY KEY (root, lesson, path)) WITHOUT ROWID;
"""
MOST_RULES = 500
MOST_ROOTS = 8
LONGEST_RULE = 240
USUAL_JOBS = ("test", "check", "lint", "format", "build", "types")  # with which a change is checked
MOST_USUAL = 3
_STAMPS = "SELECT root, lesson, path, size, mtime_ns FROM stamp"
_CANNOT_TELL = -1
_KINDS = {"correction": 0, "command": 1}
_SPACE = lazy_regex(r"\s+")
_QUOTED = lazy_regex(r"`([^`]+)`")


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of a lesson that counts, as it is told."""

    lesson: Lesson
    scope: str
    text: str
    job: str = ""
    reach: int = 0


class CountedLessons(Struct, frozen=True):
    """The lessons that count, what they are held against, and those that a person chose to keep."""

    counts: tuple[ActiveLesson, ...] = ()
    record: Record = Record()
    kept: frozenset[str] = frozenset()
    silenced: frozenset[str] = frozenset()  # rules that must not be told: stale, muted, rejected


def count_lessons(machine: Machine, project: Project) -> CountedLessons:
    """A shelf that cannot be read costs the lessons only: `doctor` and `lessons list` say what is wrong with it."""
    try:
        shelf = lesson_store(machine, project).read()
        seen = looked_at(machine, project, shelf)
        kept = frozenset(
            one.lesson.name for one in seen if one.state == "active" and one.place != "candidates"
        )
        counts = tuple(counting(seen))
        counts += tuple(_usual(machine, project, shelf, {rule for one in seen for rule in one.lesson.rules}))
        told = {rule for one in counts for rule in one.lesson.rules}
        silent = (one for one in seen if one.state in ("stale", "muted", "rejected"))
        unwanted = [*(rule for one in silent for rule in one.lesson.rules), *shelf.choices.rejected_rules()]
        silenced = frozenset(rule for rule in unwanted if rule not in told)
        return CountedLessons(counts, shelf.record, kept, silenced)
    except (HoldfastError, OSError):
        return CountedLessons()


def _usual(machine: Machine, project: Project, shelf: Shelf, known: Set[str]) -> Iterator[ActiveLesson]:
    """Commands that every session uses: no lessons, and told as such where no guide of the checkout says them."""
    from holdfast.briefing.lesson_proposals import usual_commands

    for lesson in usual_commands(project, shelf.choices, machine.now().timestamp()):
        if not known & set(lesson.rules):
            yield ActiveLesson(lesson, "local")


def strong_rules(machine: Machine, told: CountedLessons, instructions: str = "") -> list[Rule]:
    """Stumbles that recur, of every scope: worth a line at a start whatever is asked, and at the very call."""
    rules = _rules(machine, told, instructions)
    return [rule for rule in rules if rule.lesson.kind in STUMBLES and rule.lesson.strong]


def write_lessons(
    db: sqlite3.Connection, machine: Machine, project: Project, before: Path | None, instructions: str
) -> None:
    """`instructions` is what the agent's own files say, flat and in lower case: that is not told again."""
    db.executescript(SCHEMA)
    told = count_lessons(machine, project)
    rules = list(_rules(machine, told, instructions))[:MOST_RULES]
    worded = [set(_words(rule)) for rule in rules]
    often = Counter(word for found in worded for word in found)
    stamps = known_stamps(project) if is_checkout(project.root) else {}
    places: dict[str, tuple[FileStat, ...] | None] = {}
    for position, (rule, found) in enumerate(zip(rules, worded, strict=True)):
        lesson = rule.lesson
        if lesson.id not in places:
            places[lesson.id] = _places(project, lesson, told.record, stamps)
        known = places[lesson.id]
        weights = {word: math.log(1 + (len(rules) + 1) / often[word]) for word in found}
        row = (
            position,
            lesson.id,
            lesson.name,
            lesson.kind,
            rule.job,
            rule.text,
            "\n".join(_files(rule)),
            " ".join(f"{word}:{weight:.3f}" for word, weight in sorted(weights.items())),
            rule.reach,
            _CANNOT_TELL if known is None else len(known),
            reason_of(rule),
        )
        db.execute("INSERT INTO lesson VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    _write_stamps(db, str(project.root), places, before)


def _rules(machine: Machine, told: CountedLessons, instructions: str) -> Iterator[Rule]:
    """Corrections, then commands, then the rest; of each the strongest first."""
    ordered = sorted(told.counts, key=lambda one: (_KINDS.get(one.lesson.kind, 2), *by_worth(one.lesson)))
    usual: Counter[str] = Counter()
    for one in ordered:
        for rule in one.lesson.rules:
            text = flat(visible(machine.clean(rule)))
            if (
                not text
                or len(text) > LONGEST_RULE
                or why_line_refused(text)
                or _said(one, text, instructions)
            ):
                continue
            # A stumble names what fails: it is no command to run.
            job = job_of(text) if one.lesson.kind not in STUMBLES else ""
            reach = ONE_WORD if one.lesson.name in told.kept else 0
            if one.lesson.kind == "correction":
                reach = ANYTHING
            elif (
                one.lesson.kind == "command"
                and job in USUAL_JOBS
                and not usual[job]
                and usual.total() < MOST_USUAL
            ):
                usual[job] += 1
                reach = ANYTHING
            yield Rule(lesson=one.lesson, scope=one.scope, text=text, job=job, reach=reach)


def _said(one: ActiveLesson, text: str, instructions: str) -> bool:
    """Whether the agent's own files say it: a command by itself, anything else in its words."""
    quoted = _QUOTED.findall(text) if one.lesson.kind == "command" else []
    return any(part.casefold() in instructions for part in (text, *(q for q in quoted if "<" not in q)))


def job_of(text: str) -> str:
    """What a command is for: by our own label for it, else by the command itself, for people label as they like."""
    if (named := purpose_named(text.partition(":")[0])) in (*USUAL_JOBS, "one test", "run"):
        return named
    for quoted in _QUOTED.findall(text):
        for part in simple_commands(quoted):
            if purpose := purpose_of(part):
                return purpose
    return ""


def flat(text: str) -> str:
    """One line that cannot end a fence."""
    return "\n".join(wrap([" ".join(text.split())], "000000").split("\n")[1:-1])


def _words(rule: Rule) -> list[str]:
    """The words of a rule; for a rule that a person keeps also the lesson's name."""
    more = f"{rule.lesson.name} {rule.lesson.description}" if rule.reach == ONE_WORD else ""
    return prompt_words(f"{rule.text} {more}")


def _files(rule: Rule) -> list[str]:
    """Files whose name in a prompt calls for the lesson."""
    targets = [item.target.partition("#")[0] for item in rule.lesson.fingerprint]
    targets += [quoted for quoted in _QUOTED.findall(rule.text) if "/" in quoted and " " not in quoted]
    return [path for path in targets if path and not path.endswith("/") and "*" not in path]


def reason_of(rule: Rule) -> str:
    lesson, often = rule.lesson, len(rule.lesson.sessions)
    seen = f", seen in {often} session{'s' if often != 1 else ''}" if often else ""
    kind = "lesson" if lesson.kind == "other" else lesson.kind
    return f"{rule.scope} {kind} {lesson.name}{seen}"


def _places(
    project: Project, lesson: Lesson, record: Record, stamps: dict[str, Stamp]
) -> tuple[FileStat, ...] | None:
    """Where to look whether a lesson still holds; none where it depends on nothing, None where stat cannot tell."""
    if not lesson.fingerprint:
        return ()
    # What has no digest yet was looked at just now, for the first time.
    against = [
        Fingerprint(target=item.target, digest=item.digest or (stamp.digest if stamp else ""))
        for item in record.against(lesson)
        for stamp in (stamps.get(item.target),)
    ]
    # A file that was written a moment ago has no stamp that the next look may trust; a hook's does for a session.
    return places_of(against, stamps) or places_of(against, check(project.root, against).stamps)


def _write_stamps(
    db: sqlite3.Connection, root: str, places: dict[str, tuple[FileStat, ...] | None], before: Path | None
) -> None:
    """Of this work tree, and those of the others as they were: they share the memory, and their files differ."""
    rows = [(root, lesson, *place) for lesson, known in places.items() for place in known or ()]
    rows += [row for row in rows_before(before, _STAMPS) if row[0] != root and row[1] in places]
    roots = list(dict.fromkeys(row[0] for row in rows))[:MOST_ROOTS]
    db.executemany(
        "INSERT OR IGNORE INTO stamp VALUES (?, ?, ?, ?, ?)", (row for row in rows if row[0] in roots)
    )


def rows_before(prepared: Path | None, query: str) -> list[Any]:
    """What a prepared file from before answers; nothing where there is none, or it cannot be read."""
    if prepared is None:
        return []
    try:
        db = sqlite3.connect(f"{prepared.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    except (sqlite3.Error, ValueError):
        return []
    try:
        return db.execute(query).fetchall()
    except sqlite3.Error:
        return []
    finally:
        db.close()


def instructions(root: Path) -> str:
    """What agents are told by the repository's own files, in one flat text."""
    return _SPACE.sub(" ", guide_text(root)).casefold()
