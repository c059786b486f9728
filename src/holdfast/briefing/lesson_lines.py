"""Prepares the lessons for prompts: one row for each rule of an active lesson, with the data to choose it by.

Only lessons that `lesson_states` counts are written: none that is muted, rejected, stale, or came with a clone and is
not trusted. docs/research/pointers.md describes the tables; `hooks/lesson_lines.py` chooses among the rows.
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
from holdfast.language.command_words import purpose_of
from holdfast.lessons.choices import Record
from holdfast.lessons.commands import STUMBLES, by_worth, purpose_named
from holdfast.lessons.fingerprint import PlaceStamp, check, places_of
from holdfast.lessons.fingerprint_content import FileStat
from holdfast.lessons.states import ActiveLesson, counting, known_stamps, lesson_store, looked_at
from holdfast.lessons.store import Shelf
from holdfast.model.lesson import Fingerprint, Lesson
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
USUAL_JOBS = ("test", "check", "lint", "format", "build", "types")  # commands that check a change
MOST_USUAL = 3
_STAMPS = "SELECT root, lesson, path, size, mtime_ns FROM stamp"
_CANNOT_TELL = -1
_KINDS = {"correction": 0, "command": 1}
_SPACE = lazy_regex(r"\s+")
_QUOTED = lazy_regex(r"`([^`]+)`")


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of an active lesson, as it is injected."""

    lesson: Lesson
    scope: str
    text: str
    job: str = ""
    reach: int = 0


class CountedLessons(Struct, frozen=True):
    """The active lessons, the record of their files, and those that a person chose to keep."""

    counts: tuple[ActiveLesson, ...] = ()
    record: Record = Record()
    kept: frozenset[str] = frozenset()
    silenced: frozenset[str] = frozenset()  # rules that must not be injected: stale, muted, rejected


def count_lessons(machine: Machine, project: Project) -> CountedLessons:
    """The active lessons; none if they cannot be read: `doctor` and `lessons list` report why."""
    try:
        lessons = lesson_store(machine, project).read()
        statuses = looked_at(machine, project, lessons)
        kept_names = frozenset(
            status.lesson.name
            for status in statuses
            if status.state == "active" and status.place != "candidates"
        )
        counted = tuple(counting(statuses))
        counted += tuple(
            _usual(machine, project, lessons, {rule for status in statuses for rule in status.lesson.rules})
        )
        counted_rules = {rule for status in counted for rule in status.lesson.rules}
        silenced_lessons = (status for status in statuses if status.state in ("stale", "muted", "rejected"))
        unwanted_rules = [
            *(rule for status in silenced_lessons for rule in status.lesson.rules),
            *lessons.choices.rejected_rules(),
        ]
        silenced = frozenset(rule for rule in unwanted_rules if rule not in counted_rules)
        return CountedLessons(counted, lessons.record, kept_names, silenced)
    except (HoldfastError, OSError):
        return CountedLessons()


def _usual(machine: Machine, project: Project, shelf: Shelf, known: Set[str]) -> Iterator[ActiveLesson]:
    """Commands that every session uses: not lessons, but injected if no guide of the checkout states them."""
    from holdfast.briefing.lesson_proposals import usual_commands

    for lesson in usual_commands(project, shelf.choices, machine.now().timestamp()):
        if not known & set(lesson.rules):
            yield ActiveLesson(lesson, "local")


def strong_rules(machine: Machine, told: CountedLessons, instructions: str = "") -> list[Rule]:
    """Recurring failures of every scope: worth a line at every start, and at the failing call."""
    rules = _rules(machine, told, instructions)
    return [rule for rule in rules if rule.lesson.kind in STUMBLES and rule.lesson.strong]


def write_lessons(
    db: sqlite3.Connection, machine: Machine, project: Project, before: Path | None, instructions: str
) -> Set[str]:
    """Writes the tables. `instructions` is the text of the agent's own files, flat and in lower case: rules in it are
    left out. Returns the rules that must not be injected."""
    db.executescript(SCHEMA)
    counted = count_lessons(machine, project)
    rules = list(_rules(machine, counted, instructions))[:MOST_RULES]
    rule_words = [set(_words(rule)) for rule in rules]
    frequency = Counter(word for words_of_rule in rule_words for word in words_of_rule)
    stamps = known_stamps(project) if is_checkout(project.root) else {}
    places: dict[str, tuple[FileStat, ...] | None] = {}
    for position, (rule, words_of_rule) in enumerate(zip(rules, rule_words, strict=True)):
        lesson = rule.lesson
        if lesson.id not in places:
            places[lesson.id] = _places(project, lesson, counted.record, stamps)
        lesson_files = places[lesson.id]
        weights = {word: math.log(1 + (len(rules) + 1) / frequency[word]) for word in words_of_rule}
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
            _CANNOT_TELL if lesson_files is None else len(lesson_files),
            reason_of(rule),
        )
        db.execute("INSERT INTO lesson VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    _write_stamps(db, str(project.root), places, before)
    return counted.silenced


def _rules(machine: Machine, told: CountedLessons, instructions: str) -> Iterator[Rule]:
    """Corrections, then commands, then the rest; the strongest of each first."""
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
            # A failure lesson names what fails: it is not a command to run.
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
    """Whether the agent's own files state it: a command literally, anything else in its words."""
    quoted = _QUOTED.findall(text) if one.lesson.kind == "command" else []
    return any(part.casefold() in instructions for part in (text, *(q for q in quoted if "<" not in q)))


def job_of(text: str) -> str:
    """The purpose of a command: by our label for it, else by the command itself, because people's labels vary."""
    if (label := purpose_named(text.partition(":")[0])) in (*USUAL_JOBS, "one test", "run"):
        return label
    for quoted in _QUOTED.findall(text):
        for part in simple_commands(quoted):
            if purpose := purpose_of(part):
                return purpose
    return ""


def flat(text: str) -> str:
    """The text as one line that cannot end a fence."""
    return "\n".join(wrap([" ".join(text.split())], "000000").split("\n")[1:-1])


def _words(rule: Rule) -> list[str]:
    """The words of a rule; for a rule that a person chose to keep also the lesson's name."""
    more = f"{rule.lesson.name} {rule.lesson.description}" if rule.reach == ONE_WORD else ""
    return prompt_words(f"{rule.text} {more}")


def _files(rule: Rule) -> list[str]:
    """Files whose name in a prompt triggers the lesson."""
    targets = [item.target.partition("#")[0] for item in rule.lesson.fingerprint]
    targets += [quoted for quoted in _QUOTED.findall(rule.text) if "/" in quoted and " " not in quoted]
    return [path for path in targets if path and not path.endswith("/") and "*" not in path]


def reason_of(rule: Rule) -> str:
    lesson, often = rule.lesson, len(rule.lesson.sessions)
    seen = f", seen in {often} session{'s' if often != 1 else ''}" if often else ""
    kind = "lesson" if lesson.kind == "other" else lesson.kind
    return f"{rule.scope} {kind} {lesson.name}{seen}"


def _places(
    project: Project, lesson: Lesson, record: Record, stamps: dict[str, PlaceStamp]
) -> tuple[FileStat, ...] | None:
    """The files to check whether a lesson still holds; empty if it depends on none, None if stat cannot decide."""
    if not lesson.fingerprint:
        return ()
    # A target without a digest has just been checked for the first time.
    against = [
        Fingerprint(target=item.target, digest=item.digest or (stamp.digest if stamp else ""))
        for item in record.against(lesson)
        for stamp in (stamps.get(item.target),)
    ]
    # The stamp of a file written a moment ago is not reliable for the next check; for a hook it is good enough.
    return places_of(against, stamps) or places_of(against, check(project.root, against).stamps)


def _write_stamps(
    db: sqlite3.Connection, root: str, places: dict[str, tuple[FileStat, ...] | None], before: Path | None
) -> None:
    """Writes the stamps of this work tree, and copies those of the others: they share the memory, but not the files."""
    rows = [(root, lesson, *stat) for lesson, stats in places.items() for stat in stats or ()]
    rows += [row for row in rows_before(before, _STAMPS) if row[0] != root and row[1] in places]
    roots = list(dict.fromkeys(row[0] for row in rows))[:MOST_ROOTS]
    db.executemany(
        "INSERT OR IGNORE INTO stamp VALUES (?, ?, ?, ?, ?)", (row for row in rows if row[0] in roots)
    )


def rows_before(prepared: Path | None, query: str) -> list[Any]:
    """Queries the previous prepared file; no rows if it is missing or unreadable."""
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
    """The text of the repository's guides, flat and in lower case."""
    return _SPACE.sub(" ", guide_text(root)).casefold()
