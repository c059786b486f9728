"""Commits as memory: reads what is new in git's history, and says which sources are new, changed or gone.

    reading = commit_sources(root, since, clean=machine.clean, user_emails=own_emails(root))
    if reading.is_fresh:
        …                           # forget every commit source that is kept: all of them follow
    for source in reading.sources(): …      # put; a source replaces the one with its id
    for id in reading.gone: …               # delete; known after all sources were read
    keep(reading.state)                     # pass it as `since` next time

Commits of the default branch count on every branch; commits of other local branches only if this user made them, and on
the branches that contain them. Bots and generated messages give no sources.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.git_history import (
    Branches,
    Commit,
    CommitLog,
    all_present,
    branches_of,
    commits_named,
    git_dir_of,
    shallow_mark,
    shas_between,
)
from holdfast.core.git_history import own_emails as own_emails
from holdfast.core.hashes import blake2b
from holdfast.guard.quoted_text import Clean, cleaned_all
from holdfast.knowledge.commit_authors import is_bot
from holdfast.knowledge.commit_reverts import RevertFinder, Reverts, reverted_by
from holdfast.knowledge.commit_texts import FORMAT, CommitText, message_of, source_id, source_of
from holdfast.model.source import Source

_AT_ONCE = 200  # commits that are redacted together
_MOST_UNMERGED = 5000  # commits of other branches
_MOST_LOST = 20_000  # if more disappeared, everything is read again

Progress = Callable[[int, int], None]
"""Called with the number of commits read so far and of all."""


class CommitsRead(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read: pass it as `since` to read only what is new. Kept by the caller, as JSON."""

    format: int = 0
    readers: str = ""  # a hash of whose commits were read
    shallow: str = ""
    tips: tuple[str, ...] = ()
    branches: dict[str, str] = {}
    unmerged: dict[str, str] = {}  # commits of other branches that gave a source, with its stamp
    reverts: Reverts = {}  # of the default branch


class CommitReading:
    """The result of `commit_sources`. `gone` and `state` hold once `sources()` was read to its end.

    If git was interrupted, `is_whole` is False and `state` is what it was: the next reading begins there again.
    """

    def __init__(self, state: CommitsRead | None, *, is_fresh: bool = False) -> None:
        self.is_fresh = is_fresh
        self.is_whole = True
        self.gone: tuple[str, ...] = ()
        self.state = state

    def sources(self) -> Iterator[Source]:
        return iter(())


def commit_sources(
    root: Path,
    since: CommitsRead | None,
    *,
    clean: Clean,
    user_emails: Collection[str],
    others: bool = True,
    now: float | None = None,
    progress: Progress | None = None,
) -> CommitReading:
    """The commits of a work tree or a bare repository as sources, redacted by `clean`.

    `since` is the `state` of the last reading; None reads everything. `others` False leaves out the commits of all
    but this user, who is known by `user_emails`. `now` bounds the dates of commits, which their authors choose.
    Copies of a message (a branch and its squash, a backport) are sources of their own with statements of the same id.
    """
    git_dir = git_dir_of(root)
    if git_dir is None:
        return CommitReading(None, is_fresh=True)
    emails = frozenset(email.casefold() for email in user_emails)
    reader = _Reader(git_dir, clean, emails, others, now, progress)
    return reader.reading(since)


class _Reader:
    """Reads one repository for one user."""

    def __init__(
        self,
        git_dir: Path,
        clean: Clean,
        emails: frozenset[str],
        others: bool,
        now: float | None,
        progress: Progress | None,
    ) -> None:
        self.git_dir = git_dir
        self.clean = clean
        self.emails = emails
        self.others = others
        self.now = now
        self.progress = progress

    def reading(self, since: CommitsRead | None) -> CommitReading:
        found = branches_of(self.git_dir)
        begun = CommitsRead(
            format=FORMAT,
            readers=_digest([*sorted(self.emails), str(self.others)]),
            shallow=shallow_mark(self.git_dir),
            tips=found.tips,
            branches=found.others,
        )
        if since is not None and _is_same(since, begun):
            return CommitReading(since)
        if since is None or not self._goes_on(since, begun):
            return _Full(self, found, begun)
        lost = shas_between(self.git_dir, since.tips, found.tips, _MOST_LOST)
        if len(lost) >= _MOST_LOST:
            return _Full(self, found, begun)
        return _Incremental(self, found, begun, since, frozenset(lost))

    def _goes_on(self, since: CommitsRead, begun: CommitsRead) -> bool:
        """Whether the earlier reading can be continued: same rules, same user, and its commits are still there."""
        same = (since.format, since.readers, since.shallow) == (begun.format, begun.readers, begun.shallow)
        return same and bool(since.tips) and all_present(self.git_dir, since.tips)

    def is_own(self, commit: Commit) -> bool:
        return commit.email.casefold() in self.emails

    def counts(self, commit: Commit) -> bool:
        """Whether a commit of the default branch may be told."""
        return self.is_own(commit) or (self.others and not is_bot(commit.name, commit.email))

    def made(self, commits: Iterable[tuple[Commit, CommitText]]) -> Iterator[Source]:
        """The sources of commits, redacted many at a time."""
        batch: list[tuple[Commit, CommitText]] = []
        for item in commits:
            batch.append(item)
            if len(batch) >= _AT_ONCE:
                yield from self._made(batch)
                batch = []
        yield from self._made(batch)

    def _made(self, batch: list[tuple[Commit, CommitText]]) -> list[Source]:
        messages = cleaned_all([commit.message for commit, _ in batch], self.clean)
        names = cleaned_all([commit.name for commit, _ in batch], self.clean)
        sources: list[Source] = []
        for (commit, place), message, name in zip(batch, messages, names, strict=True):
            if source := source_of(commit._replace(message=message, name=name), place):
                sources.append(source)
        return self._redacted(sources)

    def _redacted(self, sources: list[Source]) -> list[Source]:
        """Unwrapping joins lines, which can put a name and a secret side by side: what leaves is checked once more."""
        texts = ["\n".join((*source.turns, *(told.text for told in source.statements))) for source in sources]
        kept: list[Source] = []
        for source, before, after in zip(sources, texts, cleaned_all(texts, self.clean), strict=True):
            kept.append(source if before == after else cleaned_source(source, self.clean))
        return kept

    def of_default(self, log: CommitLog, finder: RevertFinder) -> Iterator[tuple[Commit, CommitText]]:
        """The commits of the default branch that may be told, newest first."""
        total = log.count() if self.progress else 0
        for number, commit in enumerate(log, 1):
            if self.progress and number % 500 == 0:
                self.progress(number, max(total, number))
            message = message_of(commit.message)
            first_line = commit.message.lstrip().partition("\n")[0].strip()
            subject = first_line if len(commit.parents) > 1 else message.subject
            is_reverted = finder.look_at(commit, subject, commit.message)
            if self.counts(commit):
                yield commit, CommitText(self.is_own(commit), (), is_reverted, self.now)
        if self.progress and total:
            self.progress(total, total)

    def of_others(self, found: Branches) -> tuple[list[tuple[Commit, CommitText]], bool]:
        """This user's commits that are on other local branches only, with those branches; whether git could tell."""
        tips = sorted(set(found.others.values()))
        log = CommitLog(self.git_dir, tips, found.tips, most=_MOST_UNMERGED)
        holding: dict[str, set[str]] = {}
        for name, sha in found.others.items():
            holding.setdefault(sha, set()).add(name)
        finder = RevertFinder(self.git_dir)
        commits: list[tuple[Commit, CommitText]] = []
        names: dict[str, frozenset[str]] = {}
        for commit in log:
            here = frozenset(holding.pop(commit.sha, ()))
            names[commit.sha] = here
            for parent in commit.parents:
                holding.setdefault(parent, set()).update(here)
            finder.look_at(commit, message_of(commit.message).subject, commit.message)
            if self.is_own(commit):
                commits.append((commit, CommitText(True, tuple(sorted(here)), False, self.now)))
        # A revert counts where it is; what it reverts may be on more branches.
        reverts = {
            reverter: [target for target in targets if names.get(target, frozenset("?")) <= names[reverter]]
            for reverter, targets in finder.reverts().items()
        }
        reverted = reverted_by(reverts)
        return [
            (commit, msgspec.structs.replace(place, is_reverted=commit.sha in reverted))
            for commit, place in commits
        ], log.whole


class _Full(CommitReading):
    """Everything that can be reached now."""

    def __init__(self, reader: _Reader, found: Branches, begun: CommitsRead) -> None:
        super().__init__(None, is_fresh=True)
        self._reader = reader
        self._found = found
        self._begun = begun

    def sources(self) -> Iterator[Source]:
        reader, finder = self._reader, RevertFinder(self._reader.git_dir)
        log = CommitLog(reader.git_dir, self._found.tips)
        yield from reader.made(reader.of_default(log, finder))
        unmerged: dict[str, str] = {}
        commits, is_whole = reader.of_others(self._found)
        for source in reader.made(commits):
            unmerged[source.id] = source.stamp
            yield source
        self.is_whole = log.whole and is_whole
        if self.is_whole:
            self.state = msgspec.structs.replace(self._begun, unmerged=unmerged, reverts=finder.reverts())


class _Incremental(CommitReading):
    """What is new since an earlier reading, what changed by it, and what can no longer be reached."""

    def __init__(
        self,
        reader: _Reader,
        found: Branches,
        begun: CommitsRead,
        since: CommitsRead,
        lost: frozenset[str],
    ) -> None:
        super().__init__(since)
        self._reader = reader
        self._found = found
        self._begun = begun
        self._since = since
        self._lost = lost

    def sources(self) -> Iterator[Source]:
        reader, since = self._reader, self._since
        finder = RevertFinder(reader.git_dir)
        log = CommitLog(reader.git_dir, self._found.tips, since.tips)
        given: set[str] = set()
        for source in reader.made(reader.of_default(log, finder)):
            given.add(source.id)
            yield source
        finder.look_back(since.tips)
        kept = {
            reverter: targets for reverter, targets in since.reverts.items() if reverter not in self._lost
        }
        reverts = _united(kept, finder.reverts())
        for source in reader.made(self._turned(reverted_by(since.reverts), reverted_by(reverts), given)):
            given.add(source.id)
            yield source
        unmerged: dict[str, str] = {}
        commits, is_whole = reader.of_others(self._found)
        for source in reader.made(commits):
            unmerged[source.id] = source.stamp
            if since.unmerged.get(source.id) != source.stamp:
                yield source
        self.is_whole = log.whole and is_whole
        if self.is_whole:
            gone = {source_id(sha) for sha in self._lost} | set(since.unmerged)
            self.gone = tuple(sorted(gone - given - set(unmerged)))
            self.state = msgspec.structs.replace(self._begun, unmerged=unmerged, reverts=reverts)

    def _turned(
        self, before: frozenset[str], after: frozenset[str], given: set[str]
    ) -> Iterator[tuple[Commit, CommitText]]:
        """Commits read earlier that were reverted since, or whose revert was."""
        turned = [sha for sha in before ^ after if source_id(sha) not in given and sha not in self._lost]
        for commit in commits_named(self._reader.git_dir, turned):
            if self._reader.counts(commit):
                own = self._reader.is_own(commit)
                yield commit, CommitText(own, (), commit.sha in after, self._reader.now)


def cleaned_source(source: Source, clean: Clean) -> Source:
    """The source with each of its texts redacted by itself."""
    statements = tuple(
        msgspec.structs.replace(told, text=clean(told.text), subject=clean(told.subject), who=clean(told.who))
        for told in source.statements
    )
    return msgspec.structs.replace(
        source,
        title=clean(source.title),
        who=clean(source.who),
        turns=tuple(clean(turn) for turn in source.turns),
        statements=tuple(told for told in statements if told.text.strip()),
    )


def _united(known: Reverts, found: Reverts) -> Reverts:
    united = {reverter: set(targets) for reverter, targets in known.items()}
    for reverter, targets in found.items():
        united.setdefault(reverter, set()).update(targets)
    return {reverter: tuple(sorted(targets)) for reverter, targets in sorted(united.items())}


def _is_same(since: CommitsRead, begun: CommitsRead) -> bool:
    """Whether nothing moved since the last reading."""
    return since == msgspec.structs.replace(begun, unmerged=since.unmerged, reverts=since.reverts)


def _digest(parts: Iterable[str]) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
