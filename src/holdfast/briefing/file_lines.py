"""Prepares the lines for files that an agent reads: decisions, rules and reasons that are about exactly one file.

A statement is about a file if it names it, by a path or by a name that no other file has; or if it names a symbol that
is defined in one of the files its session touched; or if it is the reason for a commit that changed this file only.
Anything vaguer gives no line. What an agent said counts where the person spoke about the same file in that session:
what agents say of files is mostly a report of the day. A path with a line number cites code; a rule is not about that.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from holdfast.briefing.lesson_lines import flat
from holdfast.briefing.moments import Moment
from holdfast.core.file_names import tracked
from holdfast.core.guides import may_be_guide
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.core.reading import beginning_of
from holdfast.core.session_id import short_session
from holdfast.core.tokens import count_tokens
from holdfast.guard.hidden_text import visible, why_line_refused
from holdfast.hooks.host_protocol import READ
from holdfast.hooks.telling import NAME as TOLD_DB
from holdfast.memory.current_digest import day_of
from holdfast.memory.decisions import SessionPassages
from holdfast.memory.merge import is_passing
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import Passage
from holdfast.model.statement import statement_of
from holdfast.store.machine import Machine

MOST_TOKENS = 60
MOST_OF_A_FILE = 3  # a hook takes the first that holds on its branch
MOST_FILES = 2_000
LEAST_WORTH, LEAST_WORTH_OF_AGENT = 50, 60  # of 100
BRANCH_DAYS = 14  # after which a statement of one branch counts everywhere
_MOST_NAMED = 2  # a statement that names more files lists them
_LARGEST = 400_000  # bytes of a file that is searched for definitions
_DAY_S = 86_400.0
_YEAR_S = 300 * _DAY_S
_KINDS = frozenset(("decision", "rule", "cause", "preference", "answer", "dead_end"))
_SETTLED = frozenset(("decision", "rule", "preference"))
_REASONS = ("rule", "cause")  # kinds of a commit's statements that say why
_PATH = lazy_regex(r"([\w@.+\-/\[\]]*[./][\w@.+\-/\[\]]*\w\]?)(:\d|#L\d)?")  # with a line it is a citation
_SYMBOL = lazy_regex(
    r"(?<![\w./-])(?:([A-Za-z_]\w*?_\w+|[a-z]\w*?[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)|([A-Za-z_]\w{3,})\(\))(?![\w/-]|\.\w)"
)
_DEFINED = lazy_regex(
    r"(?m)\b(?:def|class|function\*?|func|fn|struct|interface|trait|enum|type|const|let|var|val|object|module|record"
    r"|protocol|sub|message|service|mixin|table|view)\s+(?:\([^()\n]*\)\s*)?(?:IF NOT EXISTS\s+)?([A-Za-z_]\w+)"
    r"|^([A-Z][A-Z0-9_]{3,})\s*(?::[^=\n]+)?="
    r"|^[ \t]*(?:[\w<>\[\],:*&]+[ \t]+){1,6}[*&]?([A-Za-z_]\w+)\([^;{}()\n]{0,200}\)[^;{}\n]{0,80}\{"
)
_SENTENCE = lazy_regex(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


class _Candidate(Struct, frozen=True, kw_only=True):
    """A statement that is about a file: the sentence that names it, and how that is known."""

    path: str
    sentences: tuple[str, ...]
    naming: int = 0
    how: str
    rank: int
    id: str
    source: str  # as it stands in the line
    at: float | None
    worth: int = 50
    session: str = ""
    project: str = ""
    branch: str = ""
    title: str = ""


def file_lines(
    machine: Machine, memory: ProjectMemory, db: sqlite3.Connection, guides: str
) -> tuple[Moment, ...]:
    """The lines for files of this checkout. `db` has the files of sessions, `guides` what instruction files say."""
    project = memory.project
    if not is_checkout(project.root):
        return ()
    _known.clear()
    files_of = _files_of_sessions(db)
    known = set(tracked(project.root))
    touched = {path for paths in files_of.values() for path in paths if path not in known}
    names = _Names([*known, *(path for path in touched if (project.root / path).is_file())])
    candidates: dict[str, list[_Candidate]] = defaultdict(list)
    for name, section in _sections(memory):
        about = [
            (passage, *meant)
            for passage in section.passages
            for meant in _about(passage, names, files_of.get(section.session, ()), project.root)
        ]
        by_person = {path for passage, path, *_ in about if passage.by != "agent"}
        for passage, path, token, rank in about:
            if path in by_person and passage.id not in memory.dismissed:
                candidates[path].append(_candidate(passage, section, name, path, token, rank))
    for candidate in _of_commits(db, project.memory / TOLD_DB):
        candidates[candidate.path].append(candidate)
    later = _later_sessions(project.memory / TOLD_DB)
    now = machine.now().timestamp()
    lines: list[Moment] = []
    for path in [path for path in candidates if not may_be_guide(path)][:MOST_FILES]:
        sessions = {candidate.session for candidate in candidates[path]}
        latest = [one for one in candidates[path] if not later.get(one.session, frozenset()) & sessions]
        lines += _lines(machine, latest, guides, now)
    return tuple(lines)


def words_of_files(moments: Iterable[Moment]) -> bytes:
    """For `hooks/prefilter.py`: each file by its name and folder."""
    paths = {PurePosixPath(moment.key) for moment in moments if moment.tool == READ}
    return "\n".join(sorted(f"/{path.parent.name}/{path.name}" for path in paths)).encode("utf-8", "replace")


def _sections(memory: ProjectMemory) -> Iterator[tuple[str, SessionPassages]]:
    """What sessions settled, and the decisions that a person wrote into the register."""
    yield from memory.passages()
    for name, reference in memory.references():
        for decision in reference.decisions:
            if not decision.session and decision.by != "agent" and not is_passing(statement_of(decision)):
                passage = Passage(text=decision.text, by=decision.by, worth=100)  # its id is the same
                yield name, SessionPassages(session=decision.session, at=decision.at, passages=(passage,))


class _Names:
    """The files of a checkout by their names."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_name[path.rpartition("/")[2]].append(path)

    def meant(self, written: str) -> str:
        """The one file that a path or a name can mean; '' if there is none or more than one."""
        written = written.removeprefix("./").strip("/")
        if "/" not in written and "." not in written.strip("."):
            return ""
        candidates = self._by_name.get(written.rpartition("/")[2], [])
        matching = [path for path in candidates if path == written or path.endswith(f"/{written}")]
        if written in matching and "/" in written:
            return written
        return matching[0] if len(matching) == 1 else ""


def _files_of_sessions(db: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """The files that each of the latest sessions touched."""
    paths = dict(db.execute("SELECT id, path FROM file"))
    files: dict[str, tuple[str, ...]] = {}
    for session, blob in db.execute("SELECT session, files FROM asked"):
        numbers = array("I")
        numbers.frombytes(blob)
        files[session] = tuple(paths[number // 2] for number in numbers)
    return files


def _about(
    passage: Passage, names: _Names, touched: Sequence[str], root: Path
) -> Iterator[tuple[str, str, int]]:
    """The files that a passage is about, what names each of them, and 1 if that is a symbol."""
    least = LEAST_WORTH_OF_AGENT if passage.by == "agent" else LEAST_WORTH
    if passage.status != "agreed" or passage.kind not in _KINDS or passage.worth < least:
        return
    tokens = _PATH.findall(f"{passage.question}\n{passage.text}")
    named = {path: token for token, _ in tokens if (path := names.meant(token.rstrip(".")))}
    cites = {token for token, line in tokens if line} | {
        token for token, count in Counter(token for token, _ in tokens).items() if count > 1
    }
    if len(named) <= _MOST_NAMED:
        yield from ((path, token, 0) for path, token in named.items() if token not in cites)
    if named or passage.kind not in _SETTLED:
        return
    symbols = dict.fromkeys(first or second for first, second in _SYMBOL.findall(passage.text))
    defined = {symbol: path for symbol in symbols if (path := _defining(symbol, touched, root))}
    if len(set(defined.values())) == 1:
        symbol, path = next(iter(defined.items()))
        yield path, symbol, 1


def _candidate(
    passage: Passage, section: SessionPassages, project: str, path: str, token: str, rank: int
) -> _Candidate:
    sentences = tuple(_SENTENCE.split(" ".join(passage.text.split())))
    if passage.question:
        sentences = (f"{' '.join(passage.question.split())} → {sentences[0]}", *sentences[1:])
    how = f"it names {token}, which is defined there" if rank else f"it names {token}"
    return _Candidate(
        path=path,
        sentences=sentences,
        naming=next((number for number, text in enumerate(sentences) if token in text), 0),
        how=f"{how}; session {short_session(section.session)}" if section.session else how,
        rank=rank,
        id=passage.id,
        source="you",
        at=section.at,
        worth=passage.worth,
        session=section.session,
        project=project,
        branch=section.branch,
    )


def _defining(symbol: str, paths: Iterable[str], root: Path) -> str:
    """The one of these files that defines a symbol; '' if there is none or more than one."""
    defining = [path for path in paths if symbol in _definitions(str(root / path))]
    return defining[0] if len(defining) == 1 else ""


def _definitions(path: str) -> Collection[str]:
    known = _known.get(path)
    if known is None:
        beginning = beginning_of(path, _LARGEST)
        text = beginning[0].decode("utf-8", "replace") if beginning else ""
        known = frozenset(name for found in _DEFINED.findall(text) for name in found if name)
        if len(_known) < MOST_FILES:
            _known[path] = known
    return known


_known: dict[str, frozenset[str]] = {}  # each file is read once in a preparation


def _of_commits(db: sqlite3.Connection, told: Path) -> Iterator[_Candidate]:
    """Reasons of commits that changed one file only, as far as they are in told.db already."""
    alone = dict(db.execute("SELECT sha, path FROM alone"))
    if not alone:
        return
    marks = ", ".join("?" * len(alone))
    rows = _told_rows(
        told,
        "SELECT s.id, s.at, s.who, s.title, l.text FROM source s JOIN line l ON l.source = s.number "
        f"WHERE s.id IN ({marks}) AND s.branches = '' AND l.status = 'agreed' AND l.kind IN (?, ?)",
        *(f"git:{sha}" for sha in alone),
        *_REASONS,
    )
    for source, at, who, title, text in rows:
        sha = source.removeprefix("git:")
        yield _Candidate(
            path=alone[sha],
            sentences=tuple(_SENTENCE.split(text)),
            how=f"commit {sha[:8]} changed only this file",
            rank=2,
            id=f"git {sha[:8]}",
            source=who or "git",
            at=at,
            title="" if text == title else title,
        )


def _later_sessions(told: Path) -> dict[str, set[str]]:
    """For a session, later ones on the same subject: what they say about a file replaces what it said."""
    later: dict[str, set[str]] = defaultdict(set)
    query = (
        "SELECT e.id, l.id FROM follows JOIN source e ON e.number = earlier JOIN source l ON l.number = later "
        "WHERE l.at > e.at"
    )
    for one, other in _told_rows(told, query):
        later[one].add(other)
    return later


def _told_rows(told: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    """Rows of told.db; none if it cannot be read."""
    if not told.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{told.absolute().as_uri()}?mode=ro", uri=True)) as index:
            return index.execute(query, values).fetchall()
    except (sqlite3.Error, ValueError):
        return []


def _lines(machine: Machine, candidates: Iterable[_Candidate], guides: str, now: float) -> Iterator[Moment]:
    """The best few for one file, each as one line: named files first, then what is worth most, then the newest."""
    ordered = sorted(candidates, key=lambda one: (one.rank, -(one.worth // 20), -(one.at or 0.0), -one.worth))
    seen: set[str] = set()
    for candidate in ordered:
        text = _line(candidate, now)
        if not text or candidate.id in seen:
            continue
        text = flat(visible(machine.clean(text)))
        if not text or "\n" in text or why_line_refused(text) or _is_stated(candidate, guides):
            continue
        seen.add(candidate.id)
        everywhere = "" if candidate.at is None else str(candidate.at + BRANCH_DAYS * _DAY_S)
        yield Moment(
            tool=READ,
            key=candidate.path,
            rule="file",
            token=candidate.session,
            needs=(candidate.branch, everywhere),
            project=candidate.project,
            text=text,
            reason=candidate.how,
            id=candidate.id,
        )
        if len(seen) == MOST_OF_A_FILE:
            return


def _line(candidate: _Candidate, now: float) -> str:
    """The sentence that names the file, with its neighbours as far as they fit; '' if it is too long itself."""
    day = day_of(candidate.at)
    date = day[5:] if candidate.at is not None and now - candidate.at < _YEAR_S else day or "undated"
    mark = f" ({candidate.source}, {date}, {candidate.id})"
    title = f"{_bare(candidate.title)}: " if candidate.title else ""
    room = MOST_TOKENS - count_tokens(mark) - count_tokens(title)
    first = last = candidate.naming
    sentences = candidate.sentences
    while True:
        text = " ".join(sentences[first : last + 1])
        wider = " ".join(sentences[max(0, first - 1) : last + 1]), " ".join(sentences[first : last + 2])
        if last + 1 < len(sentences) and count_tokens(wider[1]) <= room:
            last += 1
        elif first and count_tokens(wider[0]) <= room:
            first -= 1
        else:
            return f"{title}{_bare(text)}{mark}" if count_tokens(text) <= room else ""


def _is_stated(candidate: _Candidate, guides: str) -> bool:
    return _bare(candidate.sentences[candidate.naming]).casefold() in guides


def _bare(text: str) -> str:
    return text.strip().rstrip(".;,:。 ")
