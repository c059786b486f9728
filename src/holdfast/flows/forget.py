"""Forget: removes sessions, statements or texts from every file of the project's memory, and keeps them out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.briefing.explain import injections
from holdfast.briefing.prepare import prepare
from holdfast.core import files, folders
from holdfast.core.errors import HoldfastError, NotFound, UsageError
from holdfast.core.git import git_text
from holdfast.core.patterns import lazy_regex
from holdfast.flows.forget_archives import ArchiveFinding, edit_archive, find_archives, sweep_archives
from holdfast.flows.forget_files import Forgetting
from holdfast.flows.refresh import refresh
from holdfast.ledger.forgetting import forget_in_ledger
from holdfast.ledger.store import ProjectLedger
from holdfast.lessons.store import LessonStore
from holdfast.memory.current import RecurringFailure
from holdfast.memory.merge import find
from holdfast.memory.read import known_projects
from holdfast.memory.store import MemoryStore
from holdfast.model.events import DistilledSession
from holdfast.model.lesson import Lesson
from holdfast.model.memory import DeadEnd, LogEntry, Passage, ids_of
from holdfast.sessions.store import CaptureForgetting
from holdfast.store.denied import Denied
from holdfast.store.inbox import envelopes, quarantine
from holdfast.store.machine import Machine
from holdfast.store.memory_files import walk_memory
from holdfast.store.phrases import FORGOTTEN, HEAD, SHORTEST, Phrases, words_of_phrase
from holdfast.store.project import Project, worktrees
from holdfast.store.removal import Removal, Traces, texts_in
from holdfast.store.waiting import team_waiting, waiting_archives

LOCK_S = 60.0
_SHORTEST_ID = 5  # `F-k3f`
_SHORTEST_STATEMENT = 4  # words; a forgotten statement of this length is removed wherever it is repeated
_KINDS = ("decisions", "questions", "findings", "dead_ends", "open_items", "facts")
_IN_GIT = (".holdfast/ledger.md", ".holdfast/lessons")
_SPECIAL = lazy_regex(r"[.\[\]{}()*+?^$|\\]")
_KEYWORD_PAIR = 2  # the ledger may list two words separately, as keywords
_ADVICE = {  # for an unknown id, and for an ambiguous one
    "sessions": (
        "no session {!r} is known here",
        80,
        "holdfast ledger list shows all sessions",
        "Type more of the id",
    ),
    "ids": (
        "nothing here has the id {!r}",
        40,
        "Ids are at the end of lines, such as F-k3f9ab",
        "Type more of it",
    ),
}


class Wanted(Struct, frozen=True):
    """What to forget, with every id in full."""

    sessions: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class RemainingCopy(Struct, frozen=True):
    """A place that still has a copy: the commits, or the kind of copy."""

    path: str
    commits: tuple[str, ...] = ()
    what: str = ""


class ForgetReport(Struct, frozen=True, kw_only=True):
    """How much was (or would be) removed from each file; `git` and `elsewhere` list the remaining copies, `beyond` what
    no program on this machine can look into."""

    wanted: Wanted
    removed: dict[str, int]
    git: list[RemainingCopy]
    elsewhere: list[RemainingCopy]
    beyond: tuple[str, ...] = ()

    @property
    def to_commit(self) -> bool:
        return any(path.startswith(".holdfast/") for path in self.removed)


def resolve(project: Project, sessions: Sequence[str], ids: Sequence[str], texts: Sequence[str]) -> Wanted:
    """Completes ids. Raises NotFound for an unknown id, UsageError for a text that cannot be forgotten."""
    if not (sessions or ids or texts):
        raise UsageError("nothing to forget", fix="Use --session ID, --fact ID or --text TEXT")
    for text in texts:
        if FORGOTTEN in text:
            raise UsageError(
                f"{FORGOTTEN} is the placeholder for forgotten text", fix="Use the words around it"
            )
        if len(text.strip()) < SHORTEST or not any(word[:1].isalnum() for word in words_of_phrase(text)):
            raise UsageError(
                f"the text {text[:40]!r} is too short to forget: it would match everywhere",
                fix=f"Use at least {SHORTEST} characters, including a word",
            )
    if not project.known:
        raise NotFound(
            "this project has no memory yet",
            where=str(project.root),
            fix="Run holdfast import first",
        )
    if not (sessions or ids):
        return Wanted(texts=tuple(dict.fromkeys(texts)))
    contents = _Contents(project)
    return Wanted(
        sessions=_complete(sessions, contents.sessions() if sessions else set(), "sessions"),
        ids=_complete(ids, contents.ids() if ids else set(), "ids"),
        texts=tuple(dict.fromkeys(texts)),
    )


def _complete(names: Iterable[str], known: set[str], noun: str) -> tuple[str, ...]:
    """Completes ids that were given by their first characters."""
    complete: list[str] = []
    for name in names:
        spelled = name if noun == "sessions" else name[:1].upper() + name[1:].lower()
        close = (
            [spelled] if spelled in known else sorted(id for id in known if name and id.startswith(spelled))
        )
        missing, longest, advice, more = _ADVICE[noun]
        if not close or (noun == "ids" and len(name) < _SHORTEST_ID):
            raise NotFound(missing.format(name[:longest]), fix=advice)
        if len(close) > 1:
            raise NotFound(f"{name!r} fits {len(close)} {noun}: {', '.join(close[:3])} …", fix=more)
        complete += close
    return tuple(dict.fromkeys(complete))


def preview(machine: Machine, project: Project, wanted: Wanted) -> ForgetReport:
    """What would be removed, and which copies would remain. Writes nothing."""
    contents = _Contents(project)
    removal, statements = _removal(contents, wanted)
    removed = Forgetting(project, removal).count()
    archives = _Archives(machine, project, wanted, statements)
    removed |= archives.run(dry_run=True)
    return _report(machine, contents, wanted, statements, removed, archives)


def forget(machine: Machine, project: Project, wanted: Wanted) -> ForgetReport:
    """Forgets. The denylist is written first, so that a second run finishes an interrupted removal."""
    project.prepare()
    with files.lock(project.lock("capture"), timeout=LOCK_S):
        with files.lock(project.lock("import")), files.lock(project.lock("memory")) as lock:
            contents = _Contents(project)
            removal, statements = _removal(contents, wanted)
            forgetting = Forgetting(project, removal)
            forgetting.count()  # a file that cannot be parsed raises here, before anything has changed
            texts = (*wanted.texts, *statements)
            contents.denied.add(lock, machine.now().timestamp(), wanted.sessions, wanted.ids, texts)
            folders.sweep(project.memory)  # what a restore that was killed left beside it
            removed = forgetting.apply(lock)
        # From current.md only lines are removed: the next capture rewrites it.
        refresh(machine, project)
        if (project.memory / "hot.db").exists():  # even if hooks are disabled by now
            prepare(machine, project)
        archives = _Archives(machine, project, wanted, statements)
        removed |= archives.run()
    return _report(machine, contents, wanted, statements, removed, archives)


def forget_again(project: Project, sessions: Iterable[str], ids: Iterable[str]) -> None:
    """Removes sessions and ids that were forgotten before from a copy of a memory that nobody else uses."""
    wanted = Wanted(sessions=tuple(sorted(sessions)), ids=tuple(sorted(ids)))
    if wanted.sessions or wanted.ids:
        with files.lock(project.lock("memory")) as lock:
            Forgetting(project, _removal(_Contents(project), wanted)[0]).apply(lock)


# --- contents of the memory ------------------------------------------------------------------------------


class _Contents:
    """Everything in the project's memory: statements with their ids, and the texts of each session."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.denied = Denied(project.memory)
        self.rows = ProjectLedger(project).read().entries
        self.stores = [MemoryStore(project, name) for name in known_projects(project)]
        self.entries: list[LogEntry] = [entry for store in self.stores for entry in store.entries().entries]
        self.records: dict[str, dict[str, Any]] = {}
        self.transcripts: dict[str, list[str]] = {}
        if (capture := CaptureForgetting.look(project.capture)) is not None:
            with closing(capture):
                self.records = dict(capture.plain_records())
                self.transcripts = {name: capture.paths_of(name) for name in capture.sessions()}

    def sessions(self) -> set[str]:
        sessions = {row.session for row in self.rows} | {entry.session for entry in self.entries}
        sessions |= {trace.session for trace in injections(self.project) if trace.session}
        for folder in (self.project.memory / "inbox", quarantine(self.project.memory)):
            sessions |= {envelope.session for envelope in envelopes(folder)[0]}
        return (sessions | self.transcripts.keys() | self.denied.sessions) - {""}

    def ids(self) -> set[str]:
        return {id for item in self.statements() for id in ids_of(item)} | self.denied.ids

    def statements(self) -> Iterator[Any]:
        """All statements: from the files, the log and the session records."""
        for store in self.stores:
            reference = store.facts().reference
            for known_fact in reference.facts:
                yield from (known_fact.fact, *known_fact.was)
            yield from (*reference.decisions, *store.questions().questions)
            yield from self._passages(store)
        for store in self.stores[:1]:
            current = store.current()
            yield from (*current.current.todo, *current.ticked, *current.current.questions)
            yield from (*current.current.closed, *current.current.stumbles)
        shelf = LessonStore(self.project).read()
        for folder in (shelf.local, shelf.candidates, shelf.shared, shelf.personal):
            yield from (file.lesson for file in folder.lessons)
        yield from self.statements_of_sessions()

    def _passages(self, store: MemoryStore) -> Iterator[Passage]:
        for path in store.months():
            for section in store.decisions(path).sections:
                yield from section.passages

    def statements_of_sessions(self) -> Iterator[Any]:
        for entry in self.entries:
            for kind in _KINDS[:-1]:
                yield from getattr(entry, kind)
        for session, record in self.records.items():
            known = msgspec.convert(record, DistilledSession)
            harvest = known.harvest
            for kind in _KINDS:
                yield from getattr(harvest, kind)
            yield from (msgspec.structs.replace(passage, session=session) for passage in known.passages)

    def texts_of(self, sessions: set[str], *, others: bool = False) -> Iterator[str]:
        for name, record in self.records.items():
            if (name in sessions) != others:
                yield from texts_in(record)
        for entry in self.entries:
            if (entry.session in sessions) != others:
                yield from texts_in(msgspec.to_builtins(entry))


def _removal(contents: _Contents, wanted: Wanted, said: Sequence[str] = ()) -> tuple[Removal, list[str]]:
    """The removal, and the texts of the statements that it removes; `said` are such texts that are known already."""
    ids, sessions = set(wanted.ids), set(wanted.sessions)
    texts = [_text_of(item) for item in contents.statements() if ids_of(item) & ids] if ids else []
    texts = [*said, *texts]
    texts = [text for text in dict.fromkeys(texts) if len(words_of_phrase(text)) >= _SHORTEST_STATEMENT]
    traces = Traces(
        contents.texts_of(sessions) if sessions else (), lambda: contents.texts_of(sessions, others=True)
    )
    others = _OtherSessions(contents, sessions, ids)
    removal = Removal(
        sessions,
        ids,
        wanted.texts,
        texts,
        quoted=ids | others.missing() if sessions else ids,
        instead=others.like,
        traces=traces,
    )
    return removal, texts


def _text_of(item: Any) -> str:
    if isinstance(item, Lesson):
        return "\n".join(item.rules)
    return f"{item.tried}\n{item.failed}" if isinstance(item, DeadEnd | RecurringFailure) else str(item.text)


def _words_of(item: Any) -> set[str]:
    return set(_text_of(item).casefold().split())


class _OtherSessions:
    """Finds the same statements in sessions that are not forgotten."""

    def __init__(self, contents: _Contents, sessions: set[str], ids: set[str]) -> None:
        self._contents, self._sessions, self._ids = contents, sessions, ids

    def like(self, item: Any) -> Any:
        if not hasattr(item, "id"):
            return None
        same = self._by_type.get(type(item), {})
        if item.id in same:
            return same[item.id]
        words = _words_of(item)
        similar = [
            candidate for candidate in same.values() if 2 * len(words & _words_of(candidate)) >= len(words)
        ]
        return find(similar, _text_of(item)) if similar else None

    def missing(self) -> set[str]:
        """Ids of the statements that only forgotten sessions made."""
        statements = self._contents.statements_of_sessions()
        forgotten = {item.id for item in statements if item.session in self._sessions}
        return forgotten - {id for by_id in self._by_type.values() for id in by_id}

    @cached_property
    def _by_type(self) -> dict[type, dict[str, Any]]:
        by_type: dict[type, dict[str, Any]] = {}
        for item in self._contents.statements_of_sessions():
            if item.session not in self._sessions and item.session and item.id not in self._ids:
                by_type.setdefault(type(item), {})[item.id] = item
        return by_type


# --- remaining copies ------------------------------------------------------------------------------------


class _Archives:
    """The archives of this machine that hold what is forgotten: written again, or else to be named."""

    def __init__(self, machine: Machine, project: Project, wanted: Wanted, said: Sequence[str]) -> None:
        self._machine, self._project, self._wanted, self._said = machine, project, wanted, said
        self.remaining: list[RemainingCopy] = []

    def run(self, *, dry_run: bool = False) -> dict[str, int]:
        """How much is removed from each archive. What cannot be changed is in `remaining` then."""
        removed: dict[str, int] = {}
        pickaxe = _Pickaxe(self._wanted.sessions, (*self._wanted.texts, *self._said))
        for found in list(find_archives(self._machine.home, self._project, pickaxe.in_data)):
            try:
                number = edit_archive(self._project, found, self._edit, dry_run=dry_run)
            except HoldfastError as error:
                found = ArchiveFinding(found.path, None, f"archive that cannot be changed: {error.problem}")
                number = 0
            if number:
                removed[f"{found.path.parent.name}/{found.path.name}"] = number
            if found.manifest is None:
                self.remaining.append(RemainingCopy(str(found.path), what=found.why))
        waiting = waiting_archives(self._machine.home, self._project)
        received = [(one.id, one.memory_of(self._project), one.shared) for one in waiting]
        team = team_waiting(self._machine.home, self._project)
        for name, there, shared in (*received, ("team", team, team.window)):
            stored = [path for path, _ in walk_memory(there.memory.parent) if path.is_file()]
            if any(pickaxe.in_data(files.read(path) or b"") for path in stored):
                removed[f"received/{name}"] = 1 if dry_run else self._edit(there, shared)
        if not dry_run:
            sweep_archives(self._machine.home)
        return removed

    def _edit(self, there: Project, shared: Path) -> int:
        wanted, now = self._wanted, self._machine.now().timestamp()
        with files.lock(there.lock("memory")) as lock:
            contents = _Contents(there)
            removal, said = _removal(contents, wanted, self._said)
            contents.denied.add(lock, now, wanted.sessions, wanted.ids, (*wanted.texts, *said))
            number = sum(Forgetting(there, removal).apply(lock).values())
            if (data := files.read(shared)) is not None:
                after, rows = removal.counted(lambda raw: forget_in_ledger(raw, removal, shared.name), data)
                files.replace_held(lock, shared, after, files.ANYTHING)
                number += rows
        return number


BEYOND = (
    "archives that were copied elsewhere",
    "other clones, other machines and backups of this disk",
    "what an agent or a configured model has already seen",
)


def _report(
    machine: Machine,
    contents: _Contents,
    wanted: Wanted,
    texts: Sequence[str],
    removed: dict[str, int],
    archives: _Archives,
) -> ForgetReport:
    pickaxe = _Pickaxe(wanted.sessions, (*wanted.texts, *texts))
    transcripts = [
        path
        for name, paths in sorted(contents.transcripts.items())
        for path in map(_file_of, paths)
        if name in wanted.sessions or pickaxe.in_text(str(path)) or pickaxe.in_transcript(path)
    ]
    return ForgetReport(
        wanted=wanted,
        removed=removed,
        git=_copies_in_git(contents.project, pickaxe),
        elsewhere=[
            *_copies_elsewhere(machine.home, contents.project, pickaxe, dict.fromkeys(transcripts)),
            *archives.remaining,
        ],
        beyond=BEYOND,
    )


def _file_of(source: str) -> Path:
    """The file of a transcript: several sessions may be parts of one, as in `chats.db#3`."""
    path = Path(source)
    return path if path.exists() or "#" not in source else Path(source.rpartition("#")[0])


class _Pickaxe:
    """Sessions and texts to search git's history and other files for."""

    def __init__(self, sessions: Sequence[str], texts: Sequence[str]) -> None:
        self.sessions = sessions
        self.texts = texts
        self._phrases = Phrases(texts)

    def in_file(self, path: Path) -> bool:
        try:
            return self.in_data(files.read(path) or b"")
        except HoldfastError:
            return False

    def in_data(self, data: bytes) -> bool:
        if any(session.encode() in data for session in self.sessions):
            return True
        return bool(self._phrases) and self.in_text(data.decode("utf-8", "replace"))

    def in_transcript(self, path: Path) -> bool:
        """Whether a transcript of an agent says it; a line at a time, because such a file may be large."""
        words = [max(words, key=len).encode() for words in self._phrases.words]
        try:
            with path.open("rb") as file:
                for line in file:
                    folded = line.lower()
                    if any(word in folded for word in words) and self._in_line(line):
                        return True
        except OSError:
            return False
        return False

    def _in_line(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace")
        if self.in_text(text):
            return True
        with suppress(ValueError, RecursionError):
            return any(map(self.in_text, texts_in(json.loads(text))))
        return False

    def in_text(self, text: str) -> bool:
        return self._phrases.found_in(text)

    def searches(self) -> Iterator[list[str]]:
        """Arguments for `git log`. The pattern is joined to its option, because it may begin with a dash."""
        for session in self.sessions:
            yield [f"-S{session}"]
        for text in self.texts:
            words = [_SPECIAL.sub(r"\\\g<0>", word) for word in words_of_phrase(text)[:HEAD]]
            pattern = "[[:space:]]*".join(words)
            if len(words) == _KEYWORD_PAIR:
                pattern = f"{words[0]}.*{words[1]}|{words[1]}.*{words[0]}"
            yield ["--regexp-ignore-case", "--pickaxe-regex", f"-S{pattern}"]


def _copies_in_git(project: Project, pickaxe: _Pickaxe) -> list[RemainingCopy]:
    """Commits of any branch that added or removed the text."""
    if not git_text(project.root, "rev-parse", "--git-dir"):
        return []
    copies: list[RemainingCopy] = []
    for path in _IN_GIT:
        commits: dict[str, None] = {}
        for search in pickaxe.searches():
            answer = git_text(project.root, "log", "--all", "--format=%h", *search, "--", path)
            commits.update(dict.fromkeys(answer.split()))
        if commits:
            copies.append(RemainingCopy(path, commits=tuple(commits)))
    return copies


def _copies_elsewhere(
    home: Path, project: Project, pickaxe: _Pickaxe, transcripts: Iterable[Path]
) -> Iterator[RemainingCopy]:
    for path in transcripts:
        if path.exists():
            yield RemainingCopy(str(path), what="transcript of the agent")
    ledgers = [root / ".holdfast" / "ledger.md" for root in worktrees(project)]
    names = [project.memory / name for name in ("projects.json", "switches.json", "root", "name")]
    configurations = sorted(path for path in (home / "hosts").rglob("*") if path.is_file())
    for ledger in ledgers:
        if not ledger.is_symlink() and pickaxe.in_file(ledger):
            yield RemainingCopy(str(ledger), what="another worktree's ledger")
    for paths, what in (
        (configurations, "backup of an agent's configuration"),
        (names, "names that holdfast needs"),
    ):
        yield from (RemainingCopy(str(path), what=what) for path in paths if pickaxe.in_file(path))
