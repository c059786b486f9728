"""File pointers for a prompt: the sessions of this project as the ranking needs them, and only files that exist."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from holdfast.core.fence import wrap
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import LONGEST_PROMPT, branch_words, command_in, name_words, words
from holdfast.guard.hidden_text import has_hidden
from holdfast.hooks.postings import QUARTERS, Postings
from holdfast.hooks.prompt import is_file
from holdfast.hooks.ranking import fitting, named_files, rank
from holdfast.knowledge.co_change import changed_together
from holdfast.model.events import DistilledSession
from holdfast.model.memory import Pointer, PointerSession
from holdfast.search.shell_reads import shell_reads
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

# --- the tables of the hook ----------------------------------------------------------------------------

_ANSWER = 0.25  # what a word of the agent's weighs beside one of the person's
_REMEMBERED = 30  # sessions that may go on, whose prompts so far are kept one by one
_EARLIER = 8  # of their prompts

TABLES = {
    "asked_meta": """CREATE TABLE asked_meta (empty TEXT NOT NULL, lengths BLOB NOT NULL, files INTEGER NOT NULL,
        written REAL NOT NULL)""",
    "word": "CREATE TABLE word (word TEXT PRIMARY KEY, sessions BLOB NOT NULL) WITHOUT ROWID",
    "asked": "CREATE TABLE asked (number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, files BLOB NOT NULL)",
    "file": """CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, words TEXT NOT NULL,
        named TEXT NOT NULL, sessions BLOB NOT NULL, written INTEGER NOT NULL)""",
    "written": "CREATE TABLE written (word TEXT PRIMARY KEY, files BLOB NOT NULL) WITHOUT ROWID",
    "together": """CREATE TABLE together (path TEXT NOT NULL, other TEXT NOT NULL, often REAL NOT NULL,
        PRIMARY KEY (path, other)) WITHOUT ROWID""",
    "earlier": """CREATE TABLE earlier (session TEXT NOT NULL, position INTEGER NOT NULL, words TEXT NOT NULL,
        PRIMARY KEY (session, position)) WITHOUT ROWID""",
}


def write_postings(
    db: sqlite3.Connection,
    sessions: Iterable[PointerSession],
    together: Mapping[str, Mapping[str, float]],
) -> None:
    ordered = sorted(sessions, key=lambda session: (session.at, session.session))
    holding: dict[str, array[int]] = defaultdict(lambda: array("I"))
    touching: dict[str, array[int]] = defaultdict(lambda: array("I"))
    ids: dict[str, int] = {}
    lengths = array("f")
    for statement in TABLES.values():
        db.execute(statement)
    path_words: dict[str, list[str]] = {}
    for number, session in enumerate(ordered):
        counts = _counts(session, path_words)
        lengths.append(sum(counts.values()))
        for word, count in counts.items():
            holding[word].extend((number, round(count * QUARTERS)))
        files = array("I")
        for path, edited in [*((p, 1) for p in session.edited), *((p, 0) for p in session.read)]:
            files.append(ids.setdefault(path, len(ids)) * 2 + edited)
            touching[path].append(number * 2 + edited)
        db.execute("INSERT INTO asked VALUES (?, ?, ?)", (number, session.session, files.tobytes()))
    written = _written(ordered, ids)
    average = sum(map(len, written.values())) / max(len(written), 1)
    meta = (" ".join(sorted(ENGLISH)), lengths.tobytes(), len(ids), average)
    db.execute("INSERT INTO asked_meta VALUES (?, ?, ?, ?)", meta)
    db.executemany(
        "INSERT INTO word VALUES (?, ?)", ((word, held.tobytes()) for word, held in holding.items())
    )
    db.executemany(
        "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?)",
        (
            (id, path, *_path_words(path, path_words), touching[path].tobytes(), len(written.get(id, ())))
            for path, id in ids.items()
        ),
    )
    inside: dict[str, array[int]] = defaultdict(lambda: array("I"))
    for id, found in written.items():
        for word in found:
            inside[word].append(id)
    db.executemany(
        "INSERT INTO written VALUES (?, ?)", ((word, files.tobytes()) for word, files in inside.items())
    )
    db.executemany(
        "INSERT INTO together VALUES (?, ?, ?)",
        ((path, other, often) for path, others in together.items() for other, often in others.items()),
    )
    _write_earlier(db, ordered[-_REMEMBERED:])


def _counts(session: PointerSession, path_words: dict[str, list[str]]) -> dict[str, float]:
    counts: dict[str, float] = defaultdict(float)
    for prompt in session.prompts:
        for word in prompt_words(prompt):
            counts[word] += 1.0
        if command := command_in(prompt):
            counts[command] += 1.0
    for word in prompt_words(session.answer):
        counts[word] += _ANSWER
    for word in branch_words(session.branch, ENGLISH):
        counts[word] += 1.0
    for path in session.edited:
        if path not in path_words:
            path_words[path] = sorted(set(words(path, ENGLISH)))
        for word in path_words[path]:
            counts[word] += 1.0
    return counts


def _written(sessions: Sequence[PointerSession], ids: Mapping[str, int]) -> dict[int, set[str]]:
    """For each file the words of the names that sessions wrote into it."""
    found: dict[int, set[str]] = {}
    split: dict[str, list[str]] = {}
    for session in sessions:
        for path, names in session.named:
            if path in ids:
                own = found.setdefault(ids[path], set())
                for name in names.split():
                    if name not in split:
                        split[name] = words(name, ENGLISH)
                    own.update(split[name])
    return found


def _path_words(path: str, known: Mapping[str, list[str]]) -> tuple[str, str]:
    said = known.get(path) or sorted(set(words(path, ENGLISH)))
    return " ".join(said), " ".join(sorted(name_words(path, ENGLISH)))


def _write_earlier(db: sqlite3.Connection, latest: Sequence[PointerSession]) -> None:
    db.executemany(
        "INSERT INTO earlier VALUES (?, ?, ?)",
        (
            (session.session, position, " ".join(dict.fromkeys(prompt_words(prompt))))
            for session in latest
            for position, prompt in enumerate(session.prompts[-_EARLIER:])
        ),
    )


def prompt_words(prompt: str) -> list[str]:
    return words(prompt[:LONGEST_PROMPT], ENGLISH)


BUDGET = 200
LATEST = 1000  # sessions that are looked at: older ones weigh next to nothing
_LONGEST_PATH = 300
_WORKTREE = lazy_regex(r"^(?:.*/)?\.?(?:[\w.-]+/)?worktrees/[^/]+/")
_DRIVE = lazy_regex(r"(?:([A-Za-z]):|/([A-Za-z]))/")
_BREAKS = lazy_regex(r"[\n\r\t]")
# What a tool writes for itself says nothing of the repository.
_NOT_THE_WORK = lazy_regex(
    r"(^|/)(node_modules|\.git|\.holdfast|__pycache__|tmp)/|\.claude/(projects|plans)/"
)


def pointers_for(
    machine: Machine,
    project: Project,
    prompt: str,
    *,
    budget: int = BUDGET,
    now: float | None = None,
    earlier: Sequence[str] = (),
    touched: Collection[str] = (),
    said: Collection[str] = (),
    least: float = 0.0,
    session: str = "",
    branch: str = "",
) -> list[Pointer]:
    """Files of this repository that the work asked for is likely to touch, within `budget` tokens; [] when unsure.

    `earlier` are this session's prompts so far and `touched` its files; `said` was told before and is not told again.
    With `now` only sessions that had begun by then count; `least` is the smallest chance that is worth a line; `branch`
    is where the work is done.
    """
    known = [
        one for one in pointer_sessions(project) if one.session != session and (now is None or one.at <= now)
    ]
    root = project.root if is_checkout(project.root) else None
    top = None if root is None else os.path.realpath(root)
    db = sqlite3.connect("file::memory:", uri=True)
    try:
        write_postings(db, known, changed_together(root)[0] if root else {})
        said_before = [prompt_words(one) for one in earlier]
        held_back = set(said)
        postings = Postings(db)
        named = named_files(postings, prompt, [top] if top else [])
        ranked = [
            one
            for one in rank(postings, prompt, said_before, touched, least, branch=branch, named=named)
            if one.path not in held_back and (top is None or is_file(top, one.path))
        ]
        taken = set(fitting([one.path for one in ranked], budget))
        return [
            Pointer(path=one.path, why=one.why, chance=one.chance, session=one.session)
            for one in ranked
            if one.path in taken
        ]
    finally:
        db.close()


def pointer_sessions(project: Project) -> list[PointerSession]:
    """The latest sessions as the ranking needs them."""
    none: list[DistilledSession] = []
    records = CaptureStore.glimpse(project.capture, lambda store: store.records(LATEST), none)
    return [pointer_session(record, project.root) for record in records]


def pointer_session(record: DistilledSession, root: Path) -> PointerSession:
    """A record as the ranking reads it, with the repository's own paths only."""
    edited: dict[str, None] = {}
    read: dict[str, None] = {}
    for touch in record.files:
        if path := repository_path(touch.path, record.cwd, root):
            (edited if touch.edits else read)[path] = None
    for shown in shell_reads(record.commands):
        if path := repository_path(shown, record.cwd, root):
            read[path] = None
    named = [
        (path, names) for file, names in record.named if (path := repository_path(file, record.cwd, root))
    ]
    return PointerSession(
        session=record.session,
        at=record.started or 0.0,
        prompts=record.prompts,
        answer=record.final_message,
        branch=record.branch,
        edited=tuple(edited),
        read=tuple(path for path in read if path not in edited),
        named=tuple(named),
    )


def repository_path(path: str, cwd: str, root: Path) -> str:
    """A path that a session in `cwd` recorded, as the repository has it; '' for what is outside or unfit to show.

    A session that was recorded elsewhere is read as if its directory were the root.
    """
    plain, here, top = _slashed(path), _slashed(cwd).rstrip("/"), _slashed(str(root)).rstrip("/")
    inner = _under(plain, top)
    if inner is None:
        inner = _under(plain, here)
        plain = plain if inner is None else inner
        below = _under(here, top)
        if below and "worktrees/" not in below and plain[:1] != "/":
            plain = f"{below}/{plain}"
    else:
        plain = inner
    plain = (_WORKTREE.sub("", plain) if "worktrees/" in plain else plain).removeprefix("./")
    parts = plain.split("/")
    if not plain or len(plain) > _LONGEST_PATH or plain[0] in "/~$" or ":" in parts[0] or "*" in plain:
        return ""
    if any(part in ("", ".", "..") for part in parts) or has_hidden(plain) or _BREAKS.search(plain):
        return ""
    return "" if _NOT_THE_WORK.search(plain) or _could_end_a_fence(plain) else plain


def _could_end_a_fence(path: str) -> bool:
    """A path is told as it is or not at all: made harmless it would name no file."""
    if path.isascii() and "holdfast" not in path.lower():
        return False
    return wrap([path], "000000").split("\n")[1:-1] != [path]


def _slashed(path: str) -> str:
    """One way to write a path: Windows' own and its shells' forms as `d:/x`."""
    plain = path.replace("\\", "/")
    drive = _DRIVE.match(plain)
    return f"{(drive[1] or drive[2]).lower()}:/{plain[drive.end() :]}" if drive else plain


def _under(path: str, folder: str) -> str | None:
    """What is left of a path inside a folder. Windows does not tell cases apart."""
    if not folder:
        return None
    start = folder + "/"
    same = path[: len(start)].lower() == start.lower() if folder[1:2] == ":" else path.startswith(start)
    return path[len(start) :] if same else None
