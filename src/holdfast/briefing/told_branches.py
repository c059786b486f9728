"""Where the statements of sessions count, by their commits: on every branch that reaches them, until they are reverted.

A session of a branch counts there (told_sources.py). Once the default branch reaches its commits it counts everywhere,
and once another branch does, on that one too. If all its commits were reverted, its statements are not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.briefing.told_index import Placed, ToldIndex
from holdfast.core.git_history import commits_named, git_dir_of, shas_between
from holdfast.core.hashes import blake2b
from holdfast.knowledge.commit_memory import CommitsRead
from holdfast.knowledge.commit_reverts import reverted_by
from holdfast.sessions.store import CaptureStore
from holdfast.store.project import Project

MOST_SESSIONS = 200  # the latest; older ones count everywhere, and few reverts reach back so far
MOST_BRANCHES = 20
_MOST_BETWEEN = 20_000
_FEWEST_DIGITS = 7


class _Harvest(Struct, frozen=True):
    commits: tuple[str, ...] = ()


class _Record(Struct, frozen=True):
    """Of a session's record only the commits: their hash, and the subject."""

    harvest: _Harvest = _Harvest()


def follow_commits(project: Project, index: ToldIndex, read: CommitsRead | None, now: float) -> None:
    """Updates where sessions count, if a branch moved or a session came since the last time."""
    git_dir = git_dir_of(project.root)
    if read is None or git_dir is None:
        return
    bound = index.bound_to_branches(now)
    reverted = reverted_by(read.reverts)
    seen = msgspec.json.encode([read.tips, read.branches, sorted(reverted), bound, index.taken_back()])
    mark = blake2b(seen, digest_size=8).hexdigest()
    if index.meta("followed") == mark:
        return
    commits = _commits_of_sessions(project) if bound or reverted or index.taken_back() else {}
    index.take_back(session for session, shas in commits.items() if _all_reverted(shas, reverted))
    _place(index, git_dir, read, bound, commits, now)
    seen = msgspec.json.encode(
        [read.tips, read.branches, sorted(reverted), index.bound_to_branches(now), index.taken_back()]
    )
    index.set_meta("followed", blake2b(seen, digest_size=8).hexdigest())


def _commits_of_sessions(project: Project) -> dict[str, tuple[str, ...]]:
    query = "SELECT id, record FROM session ORDER BY started DESC LIMIT ?"
    none: list[tuple[str, bytes]] = []
    rows = CaptureStore.glimpse(project.capture, lambda store: store.select(query, (MOST_SESSIONS,)), none)
    decode = msgspec.json.Decoder(_Record).decode
    named = {id: (line.partition(" ")[0] for line in decode(record).harvest.commits) for id, record in rows}
    return {id: tuple(sha for sha in shas if len(sha) >= _FEWEST_DIGITS) for id, shas in named.items()}


def _all_reverted(shas: Sequence[str], reverted: frozenset[str]) -> bool:
    return bool(shas) and all(any(whole.startswith(sha) for whole in reverted) for sha in shas)


def _place(
    index: ToldIndex,
    git_dir: Path,
    read: CommitsRead,
    bound: Sequence[Placed],
    commits: Mapping[str, Sequence[str]],
    now: float,
) -> None:
    wanted = {sha for one in bound for sha in commits.get(one.id, ())}
    whole = {commit.sha for commit in commits_named(git_dir, wanted)} if wanted else set()
    if not whole:
        return
    others = dict(list(read.branches.items())[:MOST_BRANCHES])
    beyond: dict[str, set[str]] = {}  # what each branch does not reach
    for name, tips in (("", read.tips), *((name, (tip,)) for name, tip in others.items())):
        found = shas_between(git_dir, whole, tips, _MOST_BETWEEN)
        beyond[name] = set(found) if len(found) < _MOST_BETWEEN else whole
    for one in bound:
        own = {sha for sha in whole if any(sha.startswith(short) for short in commits.get(one.id, ()))}
        if not own:
            continue
        if not own & beyond[""]:
            index.count_from(one.id, now)
            continue
        reaching = [name for name in others if not own & beyond[name]]
        index.count_on(one.id, dict.fromkeys([*one.branches.split("\n"), *reaching]))
