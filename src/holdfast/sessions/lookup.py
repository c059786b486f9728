"""Looks sessions up in capture.db: by the beginning of an id, by a commit; their titles and their transcripts."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.events import DistilledSession
from holdfast.sessions.store import CaptureStore

MOST_ASKED = 500  # sessions in one query


def titles(store: CaptureStore, sessions: Sequence[str] | None = None) -> dict[str, str]:
    """What a person would call these sessions, or all of them. Sessions without a record are missing."""
    query, values = "SELECT id, json_extract(CAST(record AS TEXT), '$.title') FROM session", list[str]()
    if sessions is not None and len(sessions) <= MOST_ASKED:
        query, values = f"{query} WHERE id IN ({','.join('?' * len(sessions))})", list(sessions)
    found = dict(store.select(query, values))
    for session in [session for session, title in found.items() if title is None]:
        if record := store.record(session):  # of an earlier version
            found[session] = title_of_record(record)
    return found


def title_of_record(record: DistilledSession) -> str:
    """The title of a session; records of earlier versions have the words that it is made from."""
    if record.title:
        return record.title
    from holdfast.language.title import title_of

    return title_of("", record.prompts, record.harvest.commits, record.commands, record.summary)


def ids_like(store: CaptureStore, start: str) -> list[str]:
    """The sessions whose id begins like this, with or without a record."""
    query = (
        "SELECT id FROM session WHERE substr(id, 1, ?1) = ?2 "
        "UNION SELECT session FROM source WHERE session != '' AND substr(session, 1, ?1) = ?2"
    )
    return [session for (session,) in store.select(query, (len(start), start))]


def sources_of(store: CaptureStore, session: str) -> list[tuple[str, str]]:
    """Agent and path of the transcripts of a session, those of subagents left out."""
    query = "SELECT agent, path FROM source WHERE session = ? AND own = session ORDER BY id"
    return [(agent, path) for agent, path in store.select(query, (session,))]


def session_of_source(store: CaptureStore, key: str) -> str:
    """The session that was read from this transcript; '' if it was not read."""
    return next(
        (str(session) for (session,) in store.select("SELECT session FROM source WHERE path = ?", (key,))), ""
    )


def session_of_commit(store: CaptureStore, sha: str) -> str:
    """The session whose record names this commit; '' if none does."""
    query = (
        "SELECT session.id, line.value FROM session, json_each(CAST(record AS TEXT), '$.harvest.commits') AS line "
        "WHERE substr(line.value, 1, 7) = ?"
    )
    for session, line in store.select(query, (sha[:7],)):
        if sha.startswith(line.partition(" ")[0]):
            return str(session)
    return ""
