"""Forget: what a person names goes from every file of the project's memory, and does not come back."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.briefing.explain import injections
from holdfast.briefing.prepare import prepare
from holdfast.core import files
from holdfast.core.errors import HoldfastError, NotFound, UsageError
from holdfast.core.git import git_text
from holdfast.core.patterns import lazy_regex
from holdfast.flows.forget_files import Forgetting
from holdfast.flows.refresh import refresh
from holdfast.ledger.store import ProjectLedger
from holdfast.lessons.store import LessonStore
from holdfast.memory import merging
from holdfast.memory.current import Stumble
from holdfast.memory.read import known_projects
from holdfast.memory.store import MemoryStore
from holdfast.model.events import DistilledSession
from holdfast.model.lesson import Lesson
from holdfast.model.memory import DeadEnd, LogEntry, ids_of
from holdfast.sessions.store import CaptureForgetting
from holdfast.store.denied import Denied
from holdfast.store.inbox import envelopes
from holdfast.store.machine import Machine
from holdfast.store.phrases import FORGOTTEN, HEAD, SHORTEST, Phrases, words_of_phrase
from holdfast.store.project import Project, worktrees
from holdfast.store.removal import Removal, Traces, texts_in

LOCK_S = 60.0
_LEAST_ID = 5  # `F-k3f`
_LEAST_SAID = 4  # words of a statement from which on it is looked for wherever it was said
_KINDS = ("decisions", "questions", "findings", "dead_ends", "open_items", "facts")


class Wanted(Struct, frozen=True):
    """What is to be forgotten, with every id in full."""

    sessions: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """What went, or would go; `git` and `elsewhere` are where it still is."""

    wanted: Wanted
    removed: dict[str, int]
    git: list[Held]
    elsewhere: list[Held]

    @property
    def to_commit(self) -> bool:
        return any(path.startswith(".holdfast/") for path in self.removed)


class _Known:
    """Everything that is remembered here: statements with their ids, and what each session said."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.denied = Denied(project.memory)
        self.rows = ProjectLedger(project).read().entries
        self.stores = [MemoryStore(project, name) for name in known_projects(project)]
        self.entries: list[LogEntry] = [entry for store in self.stores for entry in store.entries().entries]
        self.records: dict[str, dict[str, Any]] = {}
        self.captured: set[str] = set()
        self.paths: dict[str, list[str]] = {}
        if (capture := CaptureForgetting.look(project.capture)) is not None:
            with closing(capture):
                self.captured = capture.sessions()
                self.records = dict(capture.plain_records())
                self.paths = {name: capture.paths_of(name) for name in self.captured}

    def sessions(self) -> set[str]:
        found = {row.session for row in self.rows} | {entry.session for entry in self.entries}
        found |= {told.session for told in injections(self.project) if told.session}
        inbox = self.project.memory / "inbox"
        found |= {letter.session for place in (inbox, inbox / "aside") for letter in envelopes(place)[0]}
        return (found | self.captured | self.denied.sessions) - {""}

    def statements(self) -> Iterator[Any]:
        """Of files, of the log, and of the records."""
        for store in self.stores:
            reference = store.facts().reference
            for kept in reference.facts:
                yield from (kept.fact, *kept.was)
            yield from (*reference.decisions, *store.questions().questions)
        for store in self.stores[:1]:
            current = store.current()
            yield from (*current.current.todo, *current.ticked, *current.current.questions)
            yield from current.current.stumbles
        yield from self.lessons()
        yield from self.said_by_sessions()

    def lessons(self) -> Iterator[Lesson]:
        shelf = LessonStore(self.project).read()
        for folder in (shelf.local, shelf.candidates, shelf.shared, shelf.personal):
            yield from (found.lesson for found in folder.lessons)

    def said_by_sessions(self) -> Iterator[Any]:
        for entry in self.entries:
            for kind in _KINDS[:-1]:
                yield from getattr(entry, kind)
        for record in self.records.values():
            harvest = msgspec.convert(record, DistilledSession).harvest
            for kind in _KINDS:
                yield from getattr(harvest, kind)

    def texts_of(self, sessions: Iterable[str], *, others: bool = False) -> Iterator[str]:
        chosen = set(sessions)
        for name, record in self.records.items():
            if (name in chosen) != others:
                yield from texts_in(record)
        for entry in self.entries:
            if (entry.session in chosen) != others:
                yield from texts_in(msgspec.to_builtins(entry))


# --- what is meant -------------------------------------------------------------------------------------


def resolve(project: Project, sessions: Sequence[str], ids: Sequence[str], texts: Sequence[str]) -> Wanted:
    """The call in full. NotFound for what is not known here, UsageError for a text that cannot be forgotten."""
    if not (sessions or ids or texts):
        raise UsageError("nothing to forget", fix="Say --session ID, --fact ID or --text TEXT")
    for text in texts:
        if FORGOTTEN in text:
            raise UsageError(
                f"{FORGOTTEN} is what stands where a text was forgotten", fix="Give the words around it"
            )
        if len(text.strip()) < SHORTEST or not any(word[:1].isalnum() for word in words_of_phrase(text)):
            raise UsageError(
                f"the text {text[:40]!r} is too short to forget: it would be found everywhere",
                fix=f"Give at least {SHORTEST} characters, with a word in them",
            )
    if not project.known:
        raise NotFound(
            "nothing is remembered of this project",
            where=str(project.root),
            fix="holdfast import reads it in",
        )
    if not (sessions or ids):
        return Wanted(texts=tuple(dict.fromkeys(texts)))
    known = _Known(project)
    return Wanted(
        sessions=tuple(dict.fromkeys(_session(name, known.sessions()) for name in sessions)),
        ids=_ids(ids, known),
        texts=tuple(dict.fromkeys(texts)),
    )


def _session(name: str, known: set[str]) -> str:
    close = [name] if name in known else sorted(one for one in known if name and one.startswith(name))
    if not close:
        raise NotFound(
            f"no session {name[:80]!r} is known here", fix="holdfast ledger list shows what there is"
        )
    if len(close) > 1:
        raise NotFound(
            f"{name!r} fits {len(close)} sessions: {', '.join(close[:3])} …", fix="Give more of the id"
        )
    return close[0]


def _ids(names: Sequence[str], known: _Known) -> tuple[str, ...]:
    there = (
        {one for item in known.statements() for one in ids_of(item)} | known.denied.ids if names else set()
    )
    found: list[str] = []
    for name in names:
        wanted = name[:1].upper() + name[1:].lower()
        close = [wanted] if wanted in there else sorted(one for one in there if one.startswith(wanted))
        if not close or len(wanted) < _LEAST_ID:
            raise NotFound(
                f"nothing here has the id {name[:40]!r}",
                fix="Ids stand at the end of the lines, such as F-k3f9ab",
            )
        if len(close) > 1:
            raise NotFound(f"{name!r} fits {len(close)} ids: {', '.join(close[:3])} …", fix="Give more of it")
        found += close
    return tuple(dict.fromkeys(found))


# --- doing it ------------------------------------------------------------------------------------------


def preview(machine: Machine, project: Project, wanted: Wanted) -> Report:
    """What would go, and where it would still be. Writes nothing."""
    known = _Known(project)
    removal, said = _removal(known, wanted)
    removed = Forgetting(project, removal).count()
    return _report(machine, known, wanted, said, removed)


def forget(machine: Machine, project: Project, wanted: Wanted) -> Report:
    """Forgets. First it is written down that it must not come back; done again, an interrupted one is finished."""
    project.prepare()
    with files.lock(project.lock("capture"), timeout=LOCK_S):
        with files.lock(project.lock("import")), files.lock(project.lock("memory")) as held:
            known = _Known(project)
            removal, said = _removal(known, wanted)
            forgetting = Forgetting(project, removal)
            forgetting.count()  # what cannot be understood is said before anything has changed
            known.denied.add(
                held, machine.now().timestamp(), wanted.sessions, wanted.ids, (*wanted.texts, *said)
            )
            removed = forgetting.apply(held)
        _prepare_again(machine, project)
    return _report(machine, known, wanted, said, removed)


def _prepare_again(machine: Machine, project: Project) -> None:
    """What the next start is told. The state itself is only thinned here: the next capture draws it up anew."""
    refresh(machine, project)
    if (project.memory / "hot.db").exists():  # also where hooks are not enabled any more
        prepare(machine, project)


def _removal(known: _Known, wanted: Wanted) -> tuple[Removal, list[str]]:
    ids, sessions = set(wanted.ids), set(wanted.sessions)
    said = [_words_of(item) for item in known.statements() if ids_of(item) & ids] if ids else []
    said = [text for text in dict.fromkeys(said) if len(words_of_phrase(text)) >= _LEAST_SAID]
    traces = Traces(
        known.texts_of(sessions) if sessions else (), lambda: known.texts_of(sessions, others=True)
    )
    others = _Others(known, sessions, ids)
    removal = Removal(
        sessions,
        ids,
        wanted.texts,
        said,
        quoted=ids | others.missing() if sessions else ids,
        instead=others.like,
        traces=traces,
    )
    return removal, said


def _words_of(item: Any) -> str:
    if isinstance(item, Lesson):
        return "\n".join(item.rules)
    return f"{item.tried}\n{item.failed}" if isinstance(item, DeadEnd | Stumble) else str(item.text)


class _Others:
    """The same statement as sessions made it that are not forgotten."""

    def __init__(self, known: _Known, sessions: set[str], ids: set[str]) -> None:
        self._known = known
        self._sessions = sessions
        self._ids = ids
        self._by_type: dict[type, dict[str, Any]] | None = None

    def like(self, item: Any) -> Any:
        if not hasattr(item, "id"):
            return None
        same = self._others().get(type(item), {})
        if item.id in same:
            return same[item.id]
        words = set(_words_of(item).casefold().split())
        near = [
            one
            for one in same.values()
            if 2 * len(words & set(_words_of(one).casefold().split())) >= len(words)
        ]
        return merging.find(near, _words_of(item)) if near else None

    def missing(self) -> set[str]:
        """Ids of what forgotten sessions alone have said."""
        theirs = {one.id for one in self._known.said_by_sessions() if one.session in self._sessions}
        return theirs - {name for by_id in self._others().values() for name in by_id}

    def _others(self) -> dict[type, dict[str, Any]]:
        if self._by_type is None:
            self._by_type = {}
            for item in self._known.said_by_sessions():
                if item.session not in self._sessions and item.session and item.id not in self._ids:
                    self._by_type.setdefault(type(item), {})[item.id] = item
        return self._by_type


def _report(
    machine: Machine, known: _Known, wanted: Wanted, said: Sequence[str], removed: dict[str, int]
) -> Report:
    project = known.project
    needles = Pickaxe(wanted.sessions, (*wanted.texts, *said))
    transcripts = [
        Path(path)
        for name, paths in sorted(known.paths.items())
        for path in paths
        if name in wanted.sessions or needles.in_text(path)
    ]
    return Report(
        wanted=wanted,
        removed=removed,
        git=held_in_git(project, needles),
        elsewhere=held_elsewhere(machine.home, project, needles, transcripts),
    )


IN_GIT = (".holdfast/ledger.md", ".holdfast/lessons")


_SPECIAL = lazy_regex(r"[.\[\]{}()*+?^$|\\]")


_FEW = 2  # words that the ledger may hold apart from each other, as keywords


class Held(Struct, frozen=True):
    """A place, and what it is: the commits that hold it, or what kind of copy it is."""

    path: str
    commits: tuple[str, ...] = ()
    what: str = ""


class Pickaxe:
    """Sessions and texts, as git's history and other people's files are searched for them."""

    def __init__(self, sessions: Sequence[str], texts: Sequence[str]) -> None:
        self.sessions = sessions
        self.texts = texts

    @cached_property
    def _phrases(self) -> Phrases:
        return Phrases(self.texts)

    def in_data(self, data: bytes) -> bool:
        if any(session.encode() in data for session in self.sessions):
            return True
        return bool(self._phrases) and self.in_text(data.decode("utf-8", "replace"))

    def in_text(self, text: str) -> bool:
        return self._phrases.found_in(text)

    def searches(self) -> Iterator[list[str]]:
        """Arguments for `git log`. What is looked for is glued to its option: it may begin with a dash."""
        for session in self.sessions:
            yield [f"-S{session}"]
        for text in self.texts:
            words = [_SPECIAL.sub(r"\\\g<0>", word) for word in words_of_phrase(text)[:HEAD]]
            pattern = "[[:space:]]*".join(words)
            if len(words) == _FEW:
                pattern = f"{words[0]}.*{words[1]}|{words[1]}.*{words[0]}"
            yield ["--regexp-ignore-case", "--pickaxe-regex", f"-S{pattern}"]


def held_in_git(project: Project, needles: Pickaxe) -> list[Held]:
    """Commits of any branch that brought it in or took it out."""
    if not git_text(project.root, "rev-parse", "--git-dir"):
        return []
    found: list[Held] = []
    for path in IN_GIT:
        commits: dict[str, None] = {}
        for search in needles.searches():
            answer = git_text(project.root, "log", "--all", "--format=%h", *search, "--", path)
            commits.update(dict.fromkeys(answer.split()))
        if commits:
            found.append(Held(path, commits=tuple(commits)))
    return found


def held_elsewhere(home: Path, project: Project, needles: Pickaxe, transcripts: Iterable[Path]) -> list[Held]:
    found = [Held(str(path), what="transcript of the agent") for path in transcripts if path.exists()]
    for root in worktrees(project):
        ledger = root / ".holdfast" / "ledger.md"
        if not ledger.is_symlink() and needles.in_data(_data(ledger)):
            found.append(Held(str(ledger), what="another worktree's ledger"))
    for path in sorted((home / "backups").glob(f"{project.memory.name}-*.tar.gz")):
        if any(map(needles.in_data, _members(path))):
            found.append(Held(str(path), what="backup"))
    for path in sorted((home / "hosts").rglob("*")):
        if path.is_file() and needles.in_data(_data(path)):
            found.append(Held(str(path), what="backup of an agent's configuration"))
    for name in ("projects.json", "switches.json", "root", "name"):
        if needles.in_data(_data(project.memory / name)):
            found.append(Held(str(project.memory / name), what="names that holdfast needs"))
    return found


def _data(path: Path) -> bytes:
    try:
        return files.read(path) or b""
    except HoldfastError:
        return b""


def _members(path: Path) -> Iterator[bytes]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield file.read()
    except (OSError, tarfile.TarError, EOFError):
        return
