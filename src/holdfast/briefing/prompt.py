"""Prepares the tables for prompts that the hook reads, and computes what the hook would inject."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from holdfast.briefing.command_lines import USUAL, write_commands, write_usual
from holdfast.briefing.file_pointers import TABLES, pointer_sessions, prompt_words, write_postings
from holdfast.briefing.lesson_lines import flat, instructions, write_lessons
from holdfast.briefing.projects import naming
from holdfast.briefing.start import is_stated
from holdfast.briefing.style_lines import write_style
from holdfast.briefing.told_sources import update_told
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.core.reuse import until_renewed
from holdfast.core.tokens import count_tokens
from holdfast.hooks.prompt import (
    CLASSED,
    FACT_TOKENS,
    MOST_TOKENS,
    Answered,
    Heard,
    choose,
    class_of,
    heard_by,
)
from holdfast.knowledge.branch_files import branch_files
from holdfast.knowledge.co_change import CoChange, changed_together
from holdfast.lessons.commands import is_default, of_one_machine
from holdfast.memory.merge import is_passing
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import FactCategory
from holdfast.model.statement import Statement, text_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of

SCHEMA = """CREATE TABLE prompt_fact (project TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    words TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (project, text)) WITHOUT ROWID;
CREATE TABLE branch_file (branch TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (branch, path)) WITHOUT ROWID;"""
MOST_BRANCH_FILES = 200
_COPIED = {**TABLES, "usual": USUAL}
MOST_FACTS = 500
_LONGEST_FACT = 240
_FORMAT = "5"  # of the postings: those of another format are not copied
_SPACE = lazy_regex(r"\s+")
_DOES = lazy_regex(
    r"`([^`]+)` (?:runs|builds|lints|checks)\b[^`]* here\Z"
)  # as sessions/harvest_commands.py words it
_HOW_MUCH = lazy_regex(r" (?:-v+|-q+|-x|-race|-count=\d+|--verbose|--quiet)(?= |\Z)")
_PUBLIC = lazy_regex(
    r"//(?:[\w-]+\.)*(?:github\.com|githubusercontent\.com|gitlab\.com|bitbucket\.org|npmjs\.(?:org|com)|pypi\.org"
    r"|crates\.io|golang\.org|rubygems\.org|google\.com|example\.(?:com|org))(?:[/:`]|\Z| )"
)


def write_prompting(
    db: sqlite3.Connection,
    machine: Machine,
    project: Project,
    before: Path | None,
    memory: ProjectMemory | None = None,
) -> str:
    """Fills the tables and returns a stamp of their sources. If `before` has the same stamp, copies them from there."""
    stamp, complete = _stamp(project), True
    if before is None or not _copied(db, before, stamp):
        changes = changed_together(project.root) if is_checkout(project.root) else CoChange()
        write_postings(db, pointer_sessions(project), changes)
        db.execute(USUAL)
        write_usual(db, project)
        complete = changes.is_whole
    db.executescript(SCHEMA)
    guides = instructions(project.root)
    db.executemany(
        "INSERT OR IGNORE INTO prompt_fact VALUES (?, ?, ?, ?, ?)",
        _facts(memory or ProjectMemory(project), guides),
    )
    silenced = write_lessons(db, machine, project, before, guides)
    write_style(db, machine, project, guides)
    write_commands(db, machine, project, silenced, guides)
    _write_branch_files(db, project, before)
    return stamp if complete else ""  # git timed out: ask again next time


def as_prompt(
    machine: Machine,
    project: Project,
    prompt: str,
    session: str = "",
    earlier: Sequence[str] | None = None,
    heard: Heard | None = None,
    budget: int = MOST_TOKENS,
    branch: str | None = None,
) -> Answered:
    """What the hook would inject for a prompt, without lines that the named session has already seen.

    `earlier`, `heard` and `branch` replace a session's record, its trace and the checkout where there are none.
    """
    return prompt_and_ids(machine, project, prompt, session, earlier, heard, budget, branch)[0]


def prompt_and_ids(
    machine: Machine,
    project: Project,
    prompt: str,
    session: str = "",
    earlier: Sequence[str] | None = None,
    heard: Heard | None = None,
    budget: int = MOST_TOKENS,
    branch: str | None = None,
) -> tuple[Answered, dict[str, str]]:
    """The same, with the ids of the facts and decisions by their lines."""
    heard = heard or (heard_by(str(project.memory), session) if session else Heard())
    for earlier_prompt in earlier or ():
        kind, _ = class_of(earlier_prompt, heard.kind)
        heard.kind = kind if kind in CLASSED else heard.kind
    db = sqlite3.connect("file::memory:", uri=True)
    try:
        write_prompting(db, machine, project, project.memory / "hot.db")
        update_told(machine, project)
        root = str(project.root) if is_checkout(project.root) else None
        earlier_words = (
            None if earlier is None else [prompt_words(earlier_prompt) for earlier_prompt in earlier]
        )
        branch_name = branch_of(project.root) if branch is None else branch
        project_name = naming(machine, project).of_branch(branch_name)
        cwd = str(machine.cwd) if root else ""
        answer = choose(
            db,
            prompt,
            session,
            heard,
            root,
            earlier_words,
            budget,
            project_name,
            branch_name,
            cwd,
            str(project.memory),
        )
        return answer, dict(db.execute("SELECT text, id FROM prompt_fact"))
    finally:
        db.close()


@until_renewed
def _stamp(project: Project) -> str:
    """A stamp of the records and the checked-out commit: while it is the same, so are the postings."""
    seen = []
    for path in (project.capture, Path(f"{project.capture}-wal"), project.root / ".git" / "HEAD"):
        try:
            status = path.stat()
            # An empty write-ahead log appears and disappears with every reader, and means nothing.
            seen.append(f"{status.st_size}:{status.st_mtime_ns}" if status.st_size else "")
        except OSError:
            seen.append("")
    return " ".join([_FORMAT, *seen])


def _copied(db: sqlite3.Connection, before: Path, stamp: str) -> bool:
    try:
        db.commit()  # nothing can be attached within a transaction
        db.execute("ATTACH ? AS old", (f"{before.absolute().as_uri()}?mode=ro&immutable=1",))
    except (sqlite3.Error, ValueError):
        return False
    try:
        if db.execute("SELECT value FROM old.meta WHERE key = 'asked'").fetchall() != [(stamp,)]:
            return False
        for name, statement in _COPIED.items():
            db.execute(statement)
            db.execute(f"INSERT INTO main.{name} SELECT * FROM old.{name}")
        db.commit()
        return True
    except sqlite3.Error:  # it is of another format, or damaged
        db.rollback()
        for name in _COPIED:
            db.execute(f"DROP TABLE IF EXISTS main.{name}")
        return False
    finally:
        db.execute("DETACH old")


def _write_branch_files(db: sqlite3.Connection, project: Project, before: Path | None) -> None:
    """Writes the files of the branch that is checked out; keeps those of other branches, for other work trees."""
    branch = branch_of(project.root) if is_checkout(project.root) else ""
    rows = [(branch, path) for path in branch_files(project.root, branch)] if branch else []
    if before is not None:
        try:
            with closing(
                sqlite3.connect(f"{before.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
            ) as old:
                kept = old.execute("SELECT branch, path FROM branch_file WHERE branch <> ?", (branch,))
                rows += kept.fetchall()[:MOST_BRANCH_FILES]
        except (sqlite3.Error, ValueError):
            pass  # it is of another format, or not there
    db.executemany("INSERT OR IGNORE INTO branch_file VALUES (?, ?)", rows)


def _facts(memory: ProjectMemory, guides: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Current statements that no instruction file has: project, line, reason, words with weights, id.

    What a person decided by hand is in told.db (told_sources.py), where it needs no words of its own.
    """
    statements = sorted(
        (
            said
            for said in memory.register("fact", "decision")
            if said.status == "agreed"
            and (
                _is_news(said, guides)
                if said.kind == "fact"
                else (said.session or said.who == "agent") and not is_passing(said)
            )
        ),
        key=lambda said: -(said.at or 0.0),
    )[:MOST_FACTS]
    words_by_id = {said.id: set(prompt_words(said.text)) for said in statements}
    frequency = Counter(word for statement_words in words_by_id.values() for word in statement_words)
    for said in statements:
        line, reason = _line(said)
        text = flat(line)
        if len(text) > _LONGEST_FACT or _SPACE.sub(" ", flat(said.text)).casefold() in guides:
            continue
        weights = {
            word: math.log(1 + (len(statements) + 1) / frequency[word]) for word in words_by_id[said.id]
        }
        weighed = " ".join(f"{word}:{weight:.3f}" for word, weight in sorted(weights.items()))
        yield said.project, text, reason, weighed, said.id


def _is_news(fact: Statement, guides: str) -> bool:
    """Whether a fact is specific to this project and not known anyway; everything that a person wrote is.

    That a public host answers is true everywhere. A command is known if a guide names it, or if it is obvious.
    """
    if not fact.session:
        return True
    if "REDACTED" in fact.text or (fact.subject == FactCategory.ENDPOINT and _PUBLIC.search(fact.text)):
        return False
    if (does := _DOES.match(fact.text)) is None:
        return True
    command = does[1]
    return not (
        is_stated(command, guides) or is_default(_HOW_MUCH.sub("", command)) or of_one_machine(command)
    )


def _line(said: Statement) -> tuple[str, str]:
    """A fact or a decision as one line, and why it is injected; a decision with its reason if that fits."""
    if said.kind == "fact":
        return said.text, f"a fact of this project ({said.id}, {said.subject})"
    line, whole = f"Decided: {said.text}", f"Decided: {text_of(said)}"
    return (
        whole if count_tokens(whole) <= FACT_TOKENS else line,
        f"a decision of this project ({said.id})",
    )
