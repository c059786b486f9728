"""Prepares and ranks file pointers for a prompt: past sessions as the ranking needs them, and only existing files."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from holdfast.briefing.told_index import weight_of
from holdfast.core.fence import wrap
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.core.reuse import for_same_arguments, for_same_object
from holdfast.core.stopwords import ENGLISH
from holdfast.core.words import LONGEST_PROMPT, branch_words, command_in, name_words, words
from holdfast.guard.hidden_text import has_hidden
from holdfast.hooks.offers import is_file
from holdfast.hooks.postings import QUARTERS, Postings
from holdfast.hooks.ranking import fitting, rank
from holdfast.hooks.relevance import named_files
from holdfast.knowledge.co_change import CoChange, changed_together
from holdfast.model.events import DistilledSession
from holdfast.model.memory import Pointer, PointerSession
from holdfast.search.shell_reads import shell_reads
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

# --- the tables of the hook ----------------------------------------------------------------------------

_ANSWER = 0.25  # the weight of an agent's word, where a person's word has 1
_REMEMBERED = 30  # sessions that may continue, whose prompts are stored one by one
_EARLIER = 8  # prompts of each

TABLES = {
    "asked_meta": """CREATE TABLE asked_meta (empty TEXT NOT NULL, lengths BLOB NOT NULL, openings BLOB NOT NULL,
        files INTEGER NOT NULL, written REAL NOT NULL)""",
    "word": "CREATE TABLE word (word TEXT PRIMARY KEY, sessions BLOB NOT NULL) WITHOUT ROWID",
    "opening": "CREATE TABLE opening (word TEXT PRIMARY KEY, sessions BLOB NOT NULL) WITHOUT ROWID",
    "asked": "CREATE TABLE asked (number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, files BLOB NOT NULL)",
    "file": """CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, words TEXT NOT NULL,
        named TEXT NOT NULL, sessions BLOB NOT NULL, written INTEGER NOT NULL)""",
    "written": "CREATE TABLE written (word TEXT PRIMARY KEY, files BLOB NOT NULL) WITHOUT ROWID",
    "together": """CREATE TABLE together (path TEXT NOT NULL, other TEXT NOT NULL, often REAL NOT NULL,
        PRIMARY KEY (path, other)) WITHOUT ROWID""",
    "alone": "CREATE TABLE alone (sha TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID",
    "numbered": """CREATE TABLE numbered (number TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (number, path))
        WITHOUT ROWID""",
    "earlier": """CREATE TABLE earlier (session TEXT NOT NULL, position INTEGER NOT NULL, words TEXT NOT NULL,
        PRIMARY KEY (session, position)) WITHOUT ROWID""",
}


def write_postings(
    db: sqlite3.Connection,
    sessions: Iterable[PointerSession],
    changes: CoChange,
) -> None:
    ordered = sorted(sessions, key=lambda session: (session.at, session.session))
    holding: dict[str, array[int]] = defaultdict(lambda: array("I"))
    touching: dict[str, array[int]] = defaultdict(lambda: array("I"))
    ids: dict[str, int] = {}
    lengths = array("f")
    for statement in TABLES.values():
        db.execute(statement)
    for number, session in enumerate(ordered):
        counts = _counts(session)
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
    openings = _write_openings(db, ordered)
    meta = (" ".join(sorted(ENGLISH)), lengths.tobytes(), openings.tobytes(), len(ids), average)
    db.execute("INSERT INTO asked_meta VALUES (?, ?, ?, ?, ?)", meta)
    db.executemany(
        "INSERT INTO word VALUES (?, ?)", ((word, postings.tobytes()) for word, postings in holding.items())
    )
    db.executemany(
        "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?)",
        (
            (id, path, *_path_words(path), touching[path].tobytes(), len(written.get(id, ())))
            for path, id in ids.items()
        ),
    )
    files_by_word: dict[str, array[int]] = defaultdict(lambda: array("I"))
    for id, file_words in written.items():
        for word in file_words:
            files_by_word[word].append(id)
    db.executemany(
        "INSERT INTO written VALUES (?, ?)",
        ((word, files.tobytes()) for word, files in files_by_word.items()),
    )
    db.executemany(
        "INSERT INTO together VALUES (?, ?, ?)",
        (
            (path, companion, frequency)
            for path, companions in changes.together.items()
            for companion, frequency in companions.items()
        ),
    )
    db.executemany("INSERT INTO alone VALUES (?, ?)", changes.alone.items())
    rows = ((number, path) for number, files in changes.numbered.items() for path in sorted(files))
    db.executemany("INSERT INTO numbered VALUES (?, ?)", rows)
    _write_earlier(db, ordered[-_REMEMBERED:])


def _write_openings(db: sqlite3.Connection, sessions: Sequence[PointerSession]) -> array[float]:
    """Writes which sessions' first prompts contain a word; returns how much each of these prompts says."""
    opening: dict[str, array[int]] = defaultdict(lambda: array("I"))
    weights = array("f")
    for number, session in enumerate(sessions):
        first = dict.fromkeys(prompt_words(session.prompts[0])) if session.prompts else {}
        weights.append(sum(weight_of(word) for word in first))
        for word in first:
            opening[word].append(number)
    db.executemany(
        "INSERT INTO opening VALUES (?, ?)", ((word, numbers.tobytes()) for word, numbers in opening.items())
    )
    return weights


@for_same_object
def _counts(session: PointerSession) -> dict[str, float]:
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
        for word in _words_of_path(path):
            counts[word] += 1.0
    return counts


@for_same_arguments
def _words_of_path(path: str) -> tuple[str, ...]:
    return tuple(sorted(set(words(path, ENGLISH))))


def _written(sessions: Sequence[PointerSession], ids: Mapping[str, int]) -> dict[int, set[str]]:
    """For each file the words of the identifiers that sessions wrote into it."""
    words_by_file: dict[int, set[str]] = {}
    for session in sessions:
        for path, names in session.named:
            if path in ids:
                words_by_file.setdefault(ids[path], set()).update(_words_of_names(names))
    return words_by_file


@for_same_arguments
def _words_of_names(names: str) -> frozenset[str]:
    return frozenset(words(names, ENGLISH))


@for_same_arguments
def _path_words(path: str) -> tuple[str, str]:
    return " ".join(_words_of_path(path)), " ".join(sorted(name_words(path, ENGLISH)))


def _write_earlier(db: sqlite3.Connection, latest: Sequence[PointerSession]) -> None:
    db.executemany(
        "INSERT INTO earlier VALUES (?, ?, ?)",
        (
            (session.session, position, " ".join(dict.fromkeys(prompt_words(prompt))))
            for session in latest
            for position, prompt in enumerate(session.prompts[-_EARLIER:])
        ),
    )


@for_same_arguments
def prompt_words(prompt: str) -> list[str]:
    return words(prompt[:LONGEST_PROMPT], ENGLISH)


BUDGET = 200
LATEST = 1000  # sessions that are read: older ones have almost no weight
_LONGEST_PATH = 300
_WORKTREE = lazy_regex(r"^(?:.*/)?\.?(?:[\w.-]+/)?worktrees/[^/]+/")
_DRIVE = lazy_regex(r"(?:([A-Za-z]):|/([A-Za-z]))/")
_BREAKS = lazy_regex(r"[\n\r\t]")
# Files that a tool writes for itself say nothing about the repository.
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
    """Files of this repository that the work is likely to touch, within `budget` tokens; [] when unsure.

    `earlier` are this session's prompts so far and `touched` its files; paths in `said` were shown before and are left
    out. With `now`, only sessions that had begun by then count; `least` is the smallest probability that is worth a
    line; `branch` is the branch of the work.
    """
    sessions = [
        candidate
        for candidate in pointer_sessions(project)
        if candidate.session != session and (now is None or candidate.at <= now)
    ]
    root = project.root if is_checkout(project.root) else None
    top = None if root is None else os.path.realpath(root)
    db = sqlite3.connect("file::memory:", uri=True)
    try:
        write_postings(db, sessions, changed_together(root) if root else CoChange())
        earlier_words = [prompt_words(candidate) for candidate in earlier]
        excluded = set(said)
        postings = Postings(db)
        named_paths = named_files(postings, prompt, [top] if top else [])
        ranked = [
            candidate
            for candidate in rank(
                postings, prompt, earlier_words, touched, least, branch=branch, named=named_paths
            )
            if candidate.path not in excluded and (top is None or is_file(top, candidate.path))
        ]
        taken = set(fitting([candidate.path for candidate in ranked], budget))
        return [
            Pointer(
                path=candidate.path, why=candidate.why, chance=candidate.chance, session=candidate.session
            )
            for candidate in ranked
            if candidate.path in taken
        ]
    finally:
        db.close()


def pointer_sessions(project: Project) -> list[PointerSession]:
    """The latest sessions as the ranking needs them."""
    none: list[DistilledSession] = []
    records = CaptureStore.glimpse(project.capture, lambda store: store.records(LATEST), none)
    return [pointer_session(record, project.root) for record in records]


@for_same_object
def pointer_session(record: DistilledSession, root: Path) -> PointerSession:
    """A record as the ranking needs it, with the repository's own paths only."""
    edited: dict[str, None] = {}
    read: dict[str, None] = {}
    for touch in record.files:
        if path := repository_path(touch.path, record.cwd, root):
            (edited if touch.edits else read)[path] = None
    for shell_path in shell_reads(record.commands):
        if path := repository_path(shell_path, record.cwd, root):
            read[path] = None
    names_by_path = [
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
        named=tuple(names_by_path),
    )


def repository_path(path: str, cwd: str, root: Path) -> str:
    """A path recorded by a session in `cwd`, relative to the repository; '' if it is outside or unfit to show.

    For a session recorded elsewhere, its directory counts as the root.
    """
    plain, session_dir, top = _slashed(path), _slashed(cwd).rstrip("/"), _slashed(str(root)).rstrip("/")
    inside = _under(plain, top)
    if inside is None:
        inside = _under(plain, session_dir)
        plain = plain if inside is None else inside
        below = _under(session_dir, top)
        if below and "worktrees/" not in below and plain[:1] != "/":
            plain = f"{below}/{plain}"
    else:
        plain = inside
    plain = (_WORKTREE.sub("", plain) if "worktrees/" in plain else plain).removeprefix("./")
    parts = plain.split("/")
    if not plain or len(plain) > _LONGEST_PATH or plain[0] in "/~$" or ":" in parts[0] or "*" in plain:
        return ""
    if any(part in ("", ".", "..") for part in parts) or has_hidden(plain) or _BREAKS.search(plain):
        return ""
    return "" if _NOT_THE_WORK.search(plain) or _could_end_a_fence(plain) else plain


def _could_end_a_fence(path: str) -> bool:
    """A path is shown unchanged or not at all: neutralised, it would not name a file."""
    if path.isascii() and "holdfast" not in path.lower():
        return False
    return wrap([path], "000000").split("\n")[1:-1] != [path]


def _slashed(path: str) -> str:
    """Normalises a path: the forms of Windows and its shells become `d:/x`."""
    plain = path.replace("\\", "/")
    drive = _DRIVE.match(plain)
    return f"{(drive[1] or drive[2]).lower()}:/{plain[drive.end() :]}" if drive else plain


def _under(path: str, folder: str) -> str | None:
    """A path relative to a folder; None when it is outside. Ignores case for Windows paths."""
    if not folder:
        return None
    start = folder + "/"
    same = path[: len(start)].lower() == start.lower() if folder[1:2] == ":" else path.startswith(start)
    return path[len(start) :] if same else None
