"""Which commits were taken back: by the hash, the pull request or the title that a revert names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.core.git_history import Commit, commit_titled, full_sha, merged_by
from holdfast.core.patterns import lazy_regex

# Git's own sentence. `This partially reverts …` takes back a part, and nothing says which.
_REVERTS = lazy_regex(r"(?m)^[ \t>*-]*This reverts commits?\s+((?:[0-9a-f]{7,64}\b[\s,;.]*(?:and\s+)?)+)")
_HASH = lazy_regex(r"[0-9a-f]{7,64}\b")
_REVERTS_REQUEST = lazy_regex(r"(?m)^[ \t]*Reverts (?:[\w.-]+/[\w.-]+)?#(\d{1,9})\b")
_REVERT_TITLE = lazy_regex(r"(?i)\brevert(?:s|ed|ing)?:? [\"“](.+)[\"”]")
_REQUEST = lazy_regex(r"\s*\((?:[\w./-]*[#!])(\d{1,9})\)\s*$")
_MERGED_REQUEST = lazy_regex(r"Merge pull request #(\d{1,9}) from |Merged in .* \(pull request #(\d{1,9})\)")
_MOST_TARGETS = 50  # of one message

Reverts = dict[str, tuple[str, ...]]
"""For each commit that reverts others: which ones."""


class Revert(Struct, frozen=True):
    """What a message says it takes back; a hash says it best, then the number of a pull request, then the title."""

    hashes: tuple[str, ...] = ()
    request: str = ""
    title: str = ""


def revert_in(subject: str, body: str) -> Revert | None:
    hashes = [name for found in _REVERTS.findall(body) for name in _HASH.findall(found)]
    if hashes:
        return Revert(hashes=tuple(dict.fromkeys(hashes))[:_MOST_TARGETS])
    title = _REVERT_TITLE.search(subject)
    if request := _REVERTS_REQUEST.search(body):
        return Revert(request=request[1])
    if title is None:
        return None
    return Revert(request=request_of(title[1]), title=without_request(title[1]))


def request_of(subject: str) -> str:
    """The number of the pull request that a subject names: `Add limits (#12)`, `Merge pull request #12 from …`."""
    if match := _REQUEST.search(subject) or _MERGED_REQUEST.match(subject):
        return next(number for number in match.groups() if number)
    return ""


def without_request(subject: str) -> str:
    return _REQUEST.sub("", subject).strip()


def reverted_by(reverts: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The commits that do not count any more: a revert that was itself reverted takes nothing back."""
    reverters = defaultdict(list)
    for reverter, targets in reverts.items():
        for target in targets:
            reverters[target].append(reverter)
    state: dict[str, bool] = {}

    def is_reverted(first: str) -> bool:
        # Without recursion: a history may have thousands of reverts of reverts.
        pending = [first]
        while pending:
            sha = pending[-1]
            if sha not in state:
                state[sha] = False  # what names itself in a circle takes nothing back
                pending += [other for other in reverters[sha] if other not in state]
                continue
            pending.pop()
            state[sha] = any(not state.get(other, False) for other in reverters[sha])
        return state[first]

    return frozenset(sha for sha in list(reverters) if is_reverted(sha))


class RevertFinder:
    """Finds what reverts mean while a log is read from the newest commit to the oldest."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._by_hash: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._by_request: dict[str, list[str]] = defaultdict(list)
        self._by_title: dict[str, list[str]] = defaultdict(list)
        self._reverters: dict[str, list[str]] = defaultdict(list)
        self._reverted: set[str] = set()

    def look_at(self, commit: Commit, subject: str, body: str) -> bool:
        """Notes what this commit reverts; returns whether a newer one, which still counts, reverts it."""
        self._match(commit, subject)
        if "evert" in subject or "reverts" in body:
            revert = revert_in(subject, body)
            if revert:
                self._note(commit.sha, revert)
        reverters = self._reverters.get(commit.sha, ())
        if any(reverter not in self._reverted for reverter in reverters):
            self._reverted.add(commit.sha)
            return True
        return False

    def _note(self, sha: str, revert: Revert) -> None:
        for name in revert.hashes:
            self._by_hash[name[:7]].append((name, sha))
        if revert.request:
            self._by_request[revert.request].append(sha)
        elif revert.title:
            self._by_title[revert.title].append(sha)

    def _match(self, commit: Commit, subject: str) -> None:
        reverters: list[str] = []
        if waiting := self._by_hash.get(commit.sha[:7]):
            reverters += [sha for name, sha in waiting if commit.sha.startswith(name)]
            self._by_hash[commit.sha[:7]] = [
                (name, sha) for name, sha in waiting if not commit.sha.startswith(name)
            ]
        if self._by_request and (request := request_of(subject)):
            reverters += self._by_request.pop(request, [])
        if self._by_title:
            reverters += self._by_title.pop(without_request(subject), [])
        if reverters:
            self._record(commit.sha, reverters, is_merge=len(commit.parents) > 1)

    def _record(self, sha: str, reverters: Iterable[str], *, is_merge: bool) -> None:
        targets = [sha, *merged_by(self._git_dir, sha)] if is_merge else [sha]
        for target in targets:
            known = self._reverters[target]
            known += [reverter for reverter in reverters if reverter not in known and reverter != target]

    def look_back(self, tips: Iterable[str]) -> None:
        """Looks for what is still missing in the history that was read earlier."""
        tips = list(tips)
        for waiting in self._by_hash.values():
            for name, reverter in waiting:
                if sha := full_sha(self._git_dir, name):
                    self._record(sha, [reverter], is_merge=True)
        for request, reverters in self._by_request.items():
            for sha, subject in commit_titled(self._git_dir, tips, f"#{request}"):
                if request_of(subject) == request:
                    self._record(sha, reverters, is_merge=True)
                    break
        for title, reverters in self._by_title.items():
            for sha, subject in commit_titled(self._git_dir, tips, title):
                if without_request(subject) == title:
                    self._record(sha, reverters, is_merge=True)
                    break
        self._by_hash.clear()
        self._by_request.clear()
        self._by_title.clear()

    def reverts(self) -> Reverts:
        found: dict[str, list[str]] = defaultdict(list)
        for target, reverters in self._reverters.items():
            for reverter in reverters:
                found[reverter].append(target)
        return {reverter: tuple(sorted(targets)) for reverter, targets in sorted(found.items())}
