"""Matches the lines of a file to recorded edits: by content, file and time, with the evidence for each match.

An edit can be behind a line only if it wrote the same line, or a part of it, before the commit that brought the line.
Lines that say nothing by themselves (braces, blank lines) follow the lines around them, if the same session wrote such
a line too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from holdfast.provenance.git_lines import BlamedLine
from holdfast.provenance.line_hashes import fragments_in, hash_of, is_telling, squeezed
from holdfast.provenance.store import EditStore, StoredEdit

CLOCK_SKEW = 120.0  # seconds that an edit may lie after its commit: clocks of one machine, but a slow disk
MOST_REPEATED = 3  # a line that stands in the file more often says nothing by itself
FEWEST_ELSEWHERE = 3  # lines that one session wrote in another file, before that counts as a move

How = Literal["line", "part", "around"]


class Evidence(Struct, frozen=True, kw_only=True):
    """What speaks for a match, in the figures that the confidence is computed from."""

    how: How
    same_file: int  # 2: the same path; 1: a path that ends alike; 0: another file
    block: int  # telling lines of the same commit, without a gap, that the same session wrote
    share: float  # of the telling lines that this commit brought to this file, those that the session wrote
    hours: float  # between the edit and the time at which the commit was first made
    late: bool  # the edit lies between that time and a rebase or an amendment
    rivals: int  # other sessions that wrote the same line before the commit
    telling: bool
    length: int
    whole: bool


class LineMatch(Struct, frozen=True):
    edit: StoredEdit
    evidence: Evidence


class _Seen(Struct, gc=False):
    """A line with what is computed of it once."""

    line: BlamedLine
    squeezed: str
    hash: int
    telling: bool
    authored: float
    limit: float


class FileMatcher:
    """Matches the lines of one file. `paths` are the names that it had in the repository, the present one first."""

    def __init__(self, store: EditStore, paths: Sequence[str]) -> None:
        self._store = store
        self._paths = paths
        names = [path.rpartition("/")[2] for path in paths]
        fits = ((edit, path_fit(edit, paths)) for edit in store.edits_of(names))
        self._edits = [(edit, fit) for edit, fit in fits if fit]

    def match(self, lines: Sequence[BlamedLine]) -> list[LineMatch | None]:
        seen = _looked_at(lines)
        chosen = self._by_line(seen)
        self._by_part(seen, chosen)
        self._elsewhere(seen, chosen)
        self._around(seen, chosen)
        return _with_evidence(seen, chosen)

    def _by_line(self, seen: Sequence[_Seen]) -> list[_Choice | None]:
        by_hash: dict[int, list[tuple[StoredEdit, int]]] = defaultdict(list)
        wanted = {line.hash for line in seen}
        for edit, fit in self._edits:
            for number in wanted.intersection(edit.lines):
                by_hash[number].append((edit, fit))
        self._by_hash = by_hash
        return [_best(by_hash.get(line.hash, ()), line, "line") if line.telling else None for line in seen]

    def _by_part(self, seen: Sequence[_Seen], chosen: list[_Choice | None]) -> None:
        """Lines into which an edit put a text that is long enough to be recognised."""
        by_part: dict[tuple[int, int], list[tuple[StoredEdit, int]]] = defaultdict(list)
        for edit, fit in self._edits:
            for part in edit.parts:
                by_part[part].append((edit, fit))
        lengths = sorted({length for length, _ in by_part})
        if not lengths:
            return
        for at, line in enumerate(seen):
            if chosen[at] is None and line.telling:
                parts = {part for part in fragments_in(line.line.text, lengths) if part in by_part}
                found = [one for part in parts for one in by_part[part]]
                chosen[at] = _best(found, line, "part")

    def _elsewhere(self, seen: Sequence[_Seen], chosen: list[_Choice | None]) -> None:
        """Lines that an edit wrote in another file, from where they were moved before the commit."""
        missing = {line.hash for at, line in enumerate(seen) if chosen[at] is None and line.telling}
        if len(missing) < FEWEST_ELSEWHERE:
            return
        known = {edit.id for edit, _ in self._edits}
        by_hash: dict[int, list[tuple[StoredEdit, int]]] = defaultdict(list)
        for edit in self._store.all_edits():
            if edit.id not in known:
                shared = missing.intersection(edit.lines)
                for number in shared if len(shared) >= FEWEST_ELSEWHERE else ():
                    by_hash[number].append((edit, 0))
        for at, line in enumerate(seen):
            if chosen[at] is None and line.telling:
                chosen[at] = _best(by_hash.get(line.hash, ()), line, "line")

    def _around(self, seen: Sequence[_Seen], chosen: list[_Choice | None]) -> None:
        """Give lines that say nothing by themselves to the session around them, if it wrote such a line."""
        anchors = list(chosen)
        for at, line in enumerate(seen):
            if line.telling or chosen[at] is not None:
                continue
            nearest = _neighbours(seen, anchors, at)
            sessions = {choice.edit.session for choice in nearest}
            if len(sessions) != 1:
                continue
            (session,) = sessions
            wrote = [
                (edit, fit)
                for edit, fit in self._by_hash.get(line.hash, ())
                if edit.session == session and edit.at <= line.limit
            ]
            same = [(edit, fit) for edit, fit in wrote if edit.id == nearest[0].edit.id]
            for edit, fit in (same or wrote)[-1:]:
                chosen[at] = _Choice(edit, fit, "around", 0)


class _Choice(Struct, frozen=True, gc=False):
    edit: StoredEdit
    fit: int
    how: How
    rivals: int


def path_fit(edit: StoredEdit, paths: Iterable[str]) -> int:
    """How well the path of an edit fits one of the file's names: 2 the same, 1 the same ending, 0 another file."""
    best = 0
    for path in paths:
        if edit.path == path:
            return 2
        if edit.path.endswith(f"/{path}"):
            root = edit.path[: -len(path) - 1]
            if edit.cwd == root or edit.cwd.startswith(f"{root}/"):
                return 2
            best = 1
    return best


def _looked_at(lines: Sequence[BlamedLine]) -> list[_Seen]:
    texts = [squeezed(line.text) for line in lines]
    # A line that a formatter wrapped stands for each of its pieces: it counts once.
    unwrapped = {
        (line.commit.sha, line.path, line.original, text) for line, text in zip(lines, texts, strict=True)
    }
    often = Counter(text for *_, text in unwrapped)
    hashes = {text: hash_of(text) for text in often}
    telling = {text: is_telling(text) and number <= MOST_REPEATED for text, number in often.items()}
    return [
        _Seen(line, text, hashes[text], telling[text], *_limits(line))
        for line, text in zip(lines, texts, strict=True)
    ]


def _limits(line: BlamedLine) -> tuple[float, float]:
    """The times until which an edit can have written the line: when its commit was made, and when last changed."""
    commit = line.commit
    if commit.uncommitted:
        return float("inf"), float("inf")
    if commit.boundary:  # the line may be older than anything that this clone has
        return float("-inf"), float("-inf")
    return commit.authored + CLOCK_SKEW, max(commit.committed, commit.authored) + CLOCK_SKEW


def _best(candidates: Iterable[tuple[StoredEdit, int]], line: _Seen, how: How) -> _Choice | None:
    """The last edit before the commit, of those in the file that fits best.

    What was edited before the commit was first made comes before what could only have come in with an amendment.
    """
    possible = [(edit, fit) for edit, fit in candidates if edit.at <= line.limit]
    if not possible:
        return None
    closest = max(fit for _, fit in possible)
    early = [(edit, fit) for edit, fit in possible if fit == closest and edit.at <= line.authored]
    possible = early or possible
    edit = max((edit for edit, fit in possible if fit == closest), key=lambda edit: (edit.at, -edit.started))
    rivals = {other.session for other, fit in possible if fit == closest} - {edit.session}
    return _Choice(edit, closest, how, len(rivals))


def _neighbours(seen: Sequence[_Seen], chosen: Sequence[_Choice | None], at: int) -> list[_Choice]:
    """The nearest matched telling line above and below that came with the same commit, with none between."""
    found = []
    for step in (-1, 1):
        place = at + step
        while 0 <= place < len(seen) and seen[place].line.commit.sha == seen[at].line.commit.sha:
            if seen[place].telling:
                choice = chosen[place]
                if choice is not None:
                    found.append(choice)
                break
            place += step
    return found


def _with_evidence(seen: Sequence[_Seen], chosen: Sequence[_Choice | None]) -> list[LineMatch | None]:
    blocks = _blocks(seen, chosen)
    brought = Counter(line.line.commit.sha for line in seen if line.telling)
    wrote = Counter(
        (line.line.commit.sha, choice.edit.session)
        for line, choice in zip(seen, chosen, strict=True)
        if choice is not None and line.telling
    )
    matches: list[LineMatch | None] = []
    for line, choice, block in zip(seen, chosen, blocks, strict=True):
        if choice is None:
            matches.append(None)
            continue
        sha = line.line.commit.sha
        evidence = Evidence(
            how=choice.how,
            same_file=choice.fit,
            block=block,
            share=wrote[sha, choice.edit.session] / max(brought[sha], 1),
            hours=_hours(line, choice.edit.at),
            late=choice.edit.at > line.authored,
            rivals=choice.rivals,
            telling=line.telling,
            length=len(line.squeezed),
            whole=choice.edit.whole,
        )
        matches.append(LineMatch(choice.edit, evidence))
    return matches


def _hours(line: _Seen, at: float) -> float:
    if line.line.commit.uncommitted:
        return 0.0
    until = line.authored if at <= line.authored else line.limit
    return max(0.0, until - CLOCK_SKEW - at) / 3600


def _blocks(seen: Sequence[_Seen], chosen: Sequence[_Choice | None]) -> list[int]:
    """For each line the number of telling lines around it of the same commit and session, without a gap."""
    sizes = [0] * len(seen)
    start = 0
    while start < len(seen):
        choice = chosen[start]
        end = start + 1
        if choice is not None:
            key = (seen[start].line.commit.sha, choice.edit.session)
            while end < len(seen) and _key(seen[end], chosen[end]) in (key, None):
                end += 1
            while chosen[end - 1] is None:  # what says nothing may end a block, but is none of it
                end -= 1
        telling = sum(seen[place].telling and chosen[place] is not None for place in range(start, end))
        sizes[start:end] = [telling] * (end - start)
        start = end
    return sizes


def _key(line: _Seen, choice: _Choice | None) -> tuple[str, str] | None:
    """Commit and session of a line; None for a line that says nothing, ('', '') for one that nobody wrote."""
    if choice is not None:
        return line.line.commit.sha, choice.edit.session
    return ("", "") if line.telling else None


def sessions_in(matches: Collection[LineMatch | None]) -> Iterator[str]:
    yield from dict.fromkeys(match.edit.session for match in matches if match is not None)
