"""Use cases of the ledger: filtered rows, the details of a session, rows added by hand, sharing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import LedgerError, NameRefused, NotFound, StoreError, UsageError
from holdfast.core.git import git_complaint, git_text
from holdfast.core.names import as_name
from holdfast.ledger.intake import clamped, correct_stamps, stamp_of, stamped
from holdfast.ledger.markdown import LedgerFile, current, parse_ledger
from holdfast.ledger.store import ProjectLedger, missing_rows
from holdfast.model.ledger import LedgerEntry
from holdfast.model.origin import Origin
from holdfast.store.machine import Machine
from holdfast.store.project import Project

if TYPE_CHECKING:
    from holdfast.model.events import DistilledSession


SHARED_FILES = (".holdfast/ledger.md", ".holdfast/.gitignore", ".holdfast/.gitattributes")
_NAMES = (
    "model",
    "provider",
    "agent",
    "framework",
    "project_type",
    "kind",
    "complexity",
    "outcome",
    "usage",
    "clock",
)
_FIX = "Name a ledger.md, or a repository with .holdfast/ledger.md"


class Filter(Struct, frozen=True):
    agent: str | None = None
    model: str | None = None
    since: datetime | None = None
    last: int | None = None
    framework: str | None = None
    goal: tuple[str, ...] = ()


def read_ledger(project: Project) -> LedgerFile:
    return ProjectLedger(project).read()


def rows(ledger: LedgerFile, wanted: Filter | None = None) -> list[LedgerEntry]:
    """The rows that count and match the filter, oldest first."""
    return select(current(ledger.entries), wanted or Filter())


def select(entries: Sequence[LedgerEntry], wanted: Filter) -> list[LedgerEntry]:
    selected = [
        entry
        for entry in entries
        if (wanted.agent is None or entry.agent == wanted.agent)
        and (wanted.model is None or wanted.model in (entry.model or ""))
        and (wanted.since is None or (entry.timestamp is not None and entry.timestamp >= wanted.since))
        and (wanted.framework is None or (entry.framework or "").lower() == wanted.framework.lower())
        and (not wanted.goal or set(wanted.goal) <= {word.lower() for word in entry.goal})
    ]
    return selected[-wanted.last :] if wanted.last else selected


def find_row(entries: Sequence[LedgerEntry], session: str) -> LedgerEntry:
    """A row by its session id or a prefix of it; `last` is the latest of all rows, which come oldest first."""
    if session == "last" and entries:
        return entries[-1]
    exact = [entry for entry in entries if entry.session == session]
    close = exact or [entry for entry in entries if session and entry.session.startswith(session)]
    if not close:
        raise NotFound(f"no session {session!r} in the ledger", fix="holdfast ledger list shows all sessions")
    if len(close) > 1:
        raise NotFound(
            f"{session!r} fits {len(close)} sessions: {', '.join(entry.session for entry in close[:3])} …",
            fix="Type more of the id",
        )
    return close[0]


def record_of(project: Project, session: str) -> DistilledSession | None:
    """What local state knows of a session beyond its row."""
    from holdfast.sessions.store import CaptureStore

    return CaptureStore.glimpse(project.capture, lambda store: store.record(session), None)


def titles_of(project: Project, entries: Sequence[LedgerEntry]) -> dict[str, str]:
    """What a person would call these sessions. Rows that came from elsewhere have no title here."""
    return session_titles(project, [entry.session for entry in entries])


def session_titles(project: Project, sessions: Sequence[str]) -> dict[str, str]:
    from holdfast.sessions import lookup
    from holdfast.sessions.store import CaptureStore

    titles: dict[str, str] = CaptureStore.glimpse(
        project.capture, lambda store: lookup.titles(store, sessions), {}
    )
    return {session: titles[session] for session in sessions if titles.get(session)}


def origin_of_row(project: Project, entry: LedgerEntry, record: DistilledSession | None) -> Origin:
    """Where a row comes from. One without a record here came through git, or was written by hand."""
    from holdfast.store.origins import Origins

    archive = Origins(project.memory).archive_of(entry.session)
    if archive is not None:
        return archive.origin
    return "session" if record is not None else "git" if project.window_ledger is not None else "person"


def add_row(machine: Machine, project: Project, entry: LedgerEntry) -> LedgerEntry:
    """Writes a row given by hand. Without a session id it gets one from its content and the moment."""
    from holdfast.core.hashes import blake2b
    from holdfast.core.names import safe_name
    from holdfast.store.denied import Denied
    from holdfast.store.gate import gate

    moment, clean = machine.now(), gate(machine, project)
    if entry.session:
        session = safe_name(entry.session)
        if clean(session) != session:
            raise NameRefused("the session id looks like a secret", fix="Choose another name for it")
        gone = {
            entry_on_file.session for entry_on_file in read_ledger(project).entries if entry_on_file.forgotten
        }
        if session in gone | Denied(project.memory).sessions:
            raise UsageError(
                f"session {session!r} was forgotten and stays forgotten", fix="Choose another id"
            )
    else:
        seed = f"{entry}{moment.isoformat()}".encode("utf-8", "replace")
        session = f"s-{blake2b(seed, digest_size=5).hexdigest()}"
    if entry.failed is not None and entry.tasks is not None and entry.failed > entry.tasks:
        raise UsageError(
            f"{entry.failed} failed tasks of {entry.tasks}", fix="--failed cannot exceed --tasks"
        )
    if entry.failed is not None and len(entry.failures) > entry.failed:
        raise UsageError(
            f"{len(entry.failures)} reasons for {entry.failed} failed tasks",
            fix="Give one --failure for each",
        )
    written = replace(
        entry,
        session=session,
        model=clean(entry.model) if entry.model else entry.model,
        provider=clean(entry.provider) if entry.provider else entry.provider,
        agent=clean(entry.agent) if entry.agent else entry.agent,
        framework=clean(entry.framework) if entry.framework else entry.framework,
        project_type=clean(entry.project_type) if entry.project_type else entry.project_type,
        timestamp=entry.timestamp or moment,
        recorded=moment,
    )
    project.prepare()
    ledger = ProjectLedger(project)
    known = ledger.read().entries
    correct_stamps(ledger, known, machine.clock)
    written = stamped(written, machine.clock, known)
    ledger.append([written])
    return written


def share(project: Project) -> list[str]:
    """Makes the ledger a tracked file; the commit is left to its owner. Returns what was staged."""
    if not git_text(project.root, "rev-parse", "--git-dir"):
        raise UsageError(
            "this project is not in a git repository", where=str(project.root), fix="Run git init first"
        )
    ProjectLedger(project).share()
    _git_or_fail(project, "add", "--force", *SHARED_FILES)
    return list(SHARED_FILES)


def unshare(project: Project) -> bool:
    """Whether git's history contains it: a staged file leaves no trace."""
    committed = bool(git_text(project.root, "ls-tree", "--name-only", "HEAD", "--", SHARED_FILES[0]))
    _git_or_fail(project, "rm", "--cached", "--quiet", "--ignore-unmatch", *SHARED_FILES)
    ProjectLedger(project).unshare()
    return committed


def commit(project: Project, *, dry_run: bool = False) -> str:
    """Commits the shared ledger and nothing else, under the message that the seed shows. Returns the message."""
    if project.window_ledger is None or not git_text(project.root, "ls-files", "--", SHARED_FILES[0]):
        raise UsageError("the ledger is not tracked in git", fix="holdfast ledger share makes it so")
    before = git_text(project.root, "show", f"HEAD:./{SHARED_FILES[0]}")
    committed = (
        {entry.session for entry in parse_ledger(before.encode(), "HEAD").entries} if before else set()
    )
    new = [entry for entry in rows(read_ledger(project)) if entry.session not in committed]
    if not git_text(project.root, "status", "--porcelain", "--", *SHARED_FILES):
        raise UsageError(
            "the ledger has nothing new to commit", fix="holdfast import reads sessions that have no row yet"
        )
    message = commit_message(new)
    if not dry_run:
        _git_or_fail(project, "add", "--force", *SHARED_FILES)
        _git_or_fail(project, "commit", "--quiet", "--message", message, "--", *SHARED_FILES)
    return message


def commit_message(new: Sequence[LedgerEntry]) -> str:
    """`Session: <goal> (<model>, <n> tasks, $<cost>)`; several sessions get a line each below one that counts them."""
    lines = [_subject(entry) for entry in new]
    if not lines:
        return "Session ledger: rows corrected"
    if len(lines) == 1:
        return lines[0]
    return f"Sessions: {len(lines)} more in the ledger\n\n" + "\n".join(lines)


def _subject(entry: LedgerEntry) -> str:
    goal = " ".join(" ".join(entry.goal).split()) or "no goal recorded"
    model = " ".join((entry.model or "").split()) or "unknown model"
    tasks = "? tasks" if entry.tasks is None else f"{entry.tasks} task{'s' if entry.tasks != 1 else ''}"
    cost = "$?" if entry.cost_usd is None else f"${entry.cost_usd:.2f}"
    return f"Session: {goal} ({model}, {tasks}, {cost})"


def _git_or_fail(project: Project, *arguments: str) -> None:
    if trouble := git_complaint(project.root, *arguments):
        raise StoreError(
            f"git {arguments[0]} failed: {trouble}", where=str(project.root), fix="Fix that and try again"
        )


class MergeResult(Struct, frozen=True, kw_only=True):
    files: tuple[str, ...]
    added: int
    known: int
    forgotten: int
    problems: tuple[str, ...]


def read_all(
    machine: Machine, project: Project, places: Sequence[str], wanted: Filter
) -> tuple[list[LedgerEntry], list[str]]:
    """The rows that count of this project, or of the places named, each session once; and what could not be read."""
    ledgers = [_read(path_of(machine, place)) for place in places] or [read_ledger(project)]
    entries = [entry for ledger in ledgers for entry in ledger.entries]
    return select(current(entries), wanted), _problems(ledgers)


class NamedLedger(Struct, frozen=True):
    """Every row of one ledger, with tombstones and replaced rows, and what its project is called."""

    project: str
    path: Path
    entries: Sequence[LedgerEntry]


def named_ledgers(machine: Machine, places: Sequence[str]) -> tuple[list[NamedLedger], list[str]]:
    """The ledgers at these places, or this project's; and what could not be read."""
    if not places:
        project = machine.project()
        ledger = read_ledger(project)
        return [NamedLedger(project.title, project.ledger, ledger.entries)], _problems([ledger])
    paths = [path_of(machine, place) for place in places]
    read = [_read(path) for path in paths]
    named = [
        NamedLedger(_project_name(path), path, ledger.entries)
        for path, ledger in zip(paths, read, strict=True)
    ]
    return named, _problems(read)


def _project_name(path: Path) -> str:
    folder = path.parent.parent if path.parent.name == ".holdfast" else path.parent
    return as_name(folder.name)


def merge(machine: Machine, project: Project, places: Sequence[str]) -> MergeResult:
    """Adds the rows that this project does not know yet; session and time of recording identify a row."""
    from holdfast.store.denied import Denied
    from holdfast.store.gate import gate

    paths = (path_of(machine, place) for place in places)
    ledgers = [(str(path), _read(path)) for path in paths]
    entries = [entry for _, ledger in ledgers for entry in ledger.entries]
    existing = read_ledger(project).entries
    unseen = missing_rows(entries, existing)
    gone = Denied(project.memory).sessions | {
        entry.session for entry in (*existing, *entries) if entry.forgotten
    }
    # A session forgotten anywhere does not come back; its tombstone is imported.
    wanted = [entry for entry in unseen if entry.forgotten or entry.session not in gone]
    cleaned, refused = _cleaned(gate(machine, project), wanted)
    new = clamped(cleaned, machine.clock.now(), existing)
    if new:
        project.prepare()
        ProjectLedger(project).append(new)
        machine.clock.merge(map(stamp_of, new))
    return MergeResult(
        files=tuple(path for path, _ in ledgers),
        added=len(new),
        known=len(missing_rows(entries, ())) - len(unseen),
        forgotten=len(unseen) - len(wanted),
        problems=(*_problems(ledger for _, ledger in ledgers), *refused),
    )


def _cleaned(
    clean: Callable[[str], str], entries: Sequence[LedgerEntry]
) -> tuple[list[LedgerEntry], list[str]]:
    """Another clone may redact less: what looks like a secret is removed, or its whole row."""
    clean = cache(clean)
    cleaned, refused = [], []
    for entry in entries:
        if clean(entry.session) != entry.session:
            refused.append("a row whose session id looks like a secret is left out")
            continue
        names = {name: clean(value) for name in _NAMES if (value := getattr(entry, name))}
        goal, failures = (tuple(map(clean, words)) for words in (entry.goal, entry.failures))
        extra = tuple((clean(name), clean(value)) for name, value in entry.extra)
        cleaned.append(replace(entry, **names, goal=goal, failures=failures, extra=extra))
    return cleaned, refused


def check_beside_goal(machine: Machine, places: Sequence[str]) -> None:
    """A goal without quotation marks leaves its other words where ledgers are named."""
    for place in places:
        if not (machine.cwd / Path(place).expanduser()).exists():
            raise UsageError(
                f"{place!r} is no folder and no ledger",
                fix='Put a goal of several words in "quotation marks"',
            )


def path_of(machine: Machine, place: str) -> Path:
    given_path = (machine.cwd / Path(place).expanduser()).absolute()
    for path in (given_path, given_path / ".holdfast" / "ledger.md", given_path / "ledger.md"):
        if path.is_file():
            return path
    raise NotFound("no ledger here", where=str(given_path), fix=_FIX)


def _problems(ledgers: Iterable[LedgerFile]) -> list[str]:
    return [problem.message for ledger in ledgers for problem in ledger.problems]


def _read(path: Path) -> LedgerFile:
    try:
        return parse_ledger(files.read(path) or b"", str(path))
    except LedgerError as error:  # it is not our file, so the advice to move it away is wrong
        raise LedgerError(error.problem, where=error.where, fix=_FIX) from error
