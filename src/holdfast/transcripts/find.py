"""Finds the session that a person means, by its id or by a commit, and reads its transcripts back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.agents.registry import importer_of
from holdfast.core.errors import NotFound, TranscriptError, UsageError
from holdfast.core.git import git_text
from holdfast.ledger.rows import read_ledger, rows
from holdfast.model.events import DistilledSession, Event
from holdfast.model.ledger import LedgerEntry
from holdfast.sessions import lookup
from holdfast.sessions.line_claims import OnceClaims
from holdfast.sessions.store import CaptureStore
from holdfast.store.denied import Denied
from holdfast.store.project import Project
from holdfast.transcripts.keep import place_of
from holdfast.transcripts.kept import open_kept

SHORTEST = 4  # characters of an id or a commit
_HEXADECIMAL = frozenset("0123456789abcdef")


class Recorded(Struct, frozen=True, kw_only=True):
    """A session: its row, what local state keeps of it, and the transcripts that it was read from."""

    session: str
    row: LedgerEntry | None
    record: DistilledSession | None
    sources: tuple[tuple[str, str], ...]  # agent and key, main transcripts first
    commit: str = ""  # the one that was asked for

    @property
    def missing(self) -> list[str]:
        """The transcripts that are no longer there."""
        return [key for _, key in self.sources if not place_of(key)[0].exists()]


def find_session(project: Project, wanted: str, entries: Sequence[LedgerEntry] | None = None) -> Recorded:
    """The session with this id, the beginning of it, `last`, or the one that made a commit.

    `entries` are the rows of the ledger, if they have been read.
    """
    if entries is None:
        entries = rows(read_ledger(project))
    if wanted == "last":
        if not entries:
            raise NotFound(
                "no session is recorded here yet", fix="holdfast import reads what agents recorded"
            )
        wanted = max(
            entries, key=lambda entry: entry.timestamp.timestamp() if entry.timestamp else 0.0
        ).session
    if len(wanted) < SHORTEST:
        raise UsageError(f"{wanted!r} is too short for an id", fix=f"Give at least {SHORTEST} characters")
    known: list[str] = CaptureStore.glimpse(project.capture, lambda store: lookup.ids_like(store, wanted), [])
    ids = dict.fromkeys([*(entry.session for entry in entries if entry.session.startswith(wanted)), *known])
    if wanted in ids:
        ids = {wanted: None}
    forgotten = Denied(project.memory).sessions & ids.keys() if ids else set()
    if ids and len(forgotten) == len(ids):  # its transcript may still be there, and stays unread
        raise NotFound(
            f"session {wanted!r} was forgotten", fix="holdfast ledger lists the sessions of this project"
        )
    ids = {session: None for session in ids if session not in forgotten}
    if len(ids) > 1:
        listed = ", ".join(sorted(ids)[:3])
        raise NotFound(f"{wanted!r} fits {len(ids)} sessions: {listed} …", fix="Type more of the id")
    if ids:
        return _recorded(project, next(iter(ids)), entries)
    if sha := _commit(project, wanted):
        return _of_commit(project, sha, entries)
    raise NotFound(
        f"no session and no commit {wanted!r} here", fix="holdfast ledger lists the sessions of this project"
    )


def _recorded(project: Project, session: str, entries: Sequence[LedgerEntry], commit: str = "") -> Recorded:
    record = CaptureStore.glimpse(project.capture, lambda store: store.record(session), None)
    sources: list[tuple[str, str]] = CaptureStore.glimpse(
        project.capture, lambda store: lookup.sources_of(store, session), []
    )
    row = next((entry for entry in entries if entry.session == session), None)
    return Recorded(session=session, row=row, record=record, sources=tuple(sources), commit=commit)


def _commit(project: Project, wanted: str) -> str:
    if not _HEXADECIMAL.issuperset(wanted.lower()):
        return ""
    return git_text(project.root, "rev-parse", "--verify", "--quiet", f"{wanted.lower()}^{{commit}}").strip()


def _of_commit(project: Project, sha: str, entries: Sequence[LedgerEntry]) -> Recorded:
    session = CaptureStore.glimpse(project.capture, lambda store: lookup.session_of_commit(store, sha), "")
    if not session:
        raise NotFound(
            f"no recorded session made commit {sha[:10]}",
            fix="It was made by hand, by another tool, or before the transcripts that are still there",
        )
    return _recorded(project, session, entries, sha)


def kept_keys(project: Project) -> set[str]:
    """The transcripts of which a copy was kept."""
    opened = open_kept(project.memory)
    if opened is None:
        return set()
    with opened as kept:
        return {one.key for one in kept.all()}


def events_of(project: Project, found: Recorded) -> Iterator[Event]:
    """The events of a session's main transcripts, each line once; of one that is gone, those that were kept."""
    claims = OnceClaims()
    for agent, key in found.sources:
        path, part = place_of(key)
        reader = importer_of(agent)
        if not path.exists() and (opened := open_kept(project.memory)) is not None:
            with opened as kept:
                yield from kept.events(key)
            continue
        if reader is None or not path.exists():
            continue
        try:
            yield from reader.open(path, 0, b"", claims, part).events()
        except OSError as error:
            raise TranscriptError(str(error.strerror or error), where=str(path)) from error
