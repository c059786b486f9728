"""Blame of a file: for each span of lines the session, the request and the commit behind it, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.git import run_git
from holdfast.core.patterns import lazy_regex
from holdfast.provenance.confidence import confidence_of
from holdfast.provenance.git_lines import BlamedCommit, BlamedLine, blamed
from holdfast.provenance.line_hashes import is_telling, squeezed
from holdfast.provenance.match import FileMatcher, LineMatch
from holdfast.provenance.store import EditStore, StoredEdit

MOST_CHECKED = 12  # commits of a file that are checked for being no more than a reformatting
FEWEST_LINES = 3
_SECONDS = 30.0
_LARGEST = 20_000_000
_LAYOUT = lazy_regex(r"[\s'\"`,;()\\]+")


class Span(Struct, frozen=True, kw_only=True):
    """Lines `start` to `end` with one origin. Without an edit the session is not known, and `confidence` is None."""

    start: int
    end: int
    commit: BlamedCommit
    edit: StoredEdit | None = None
    prompt_number: int = 0
    prompt: str = ""
    confidence: float | None = None
    text: str = ""
    beside: str = ""  # all that its session wrote in the file, as far as it is still there


def spans_of(store: EditStore, root: Path, path: str, span: tuple[int, int] | None = None) -> list[Span]:
    """The spans of a file, or of some of its lines. Neighbouring lines with one origin are one span."""
    lines, matches = _matched(store, root, path)
    written: dict[str, list[str]] = {}
    for line, match in zip(lines, matches, strict=True):
        if match is not None:
            written.setdefault(match.edit.session, []).append(line.text)
    beside = {session: "\n".join(texts) for session, texts in written.items()}
    if span is not None:
        lines, matches = lines[span[0] - 1 : span[1]], matches[span[0] - 1 : span[1]]
    found = []
    for _, group in groupby(zip(lines, matches, strict=True), key=_origin):
        members = list(group)
        made = _span(store, [line for line, _ in members], [match for _, match in members])
        found.append(replace(made, beside=beside[made.edit.session]) if made.edit else made)
    return found


def _matched(store: EditStore, root: Path, path: str) -> tuple[list[BlamedLine], list[LineMatch | None]]:
    """All lines of the file: how sure a match is depends on the lines around it."""
    lines = blamed(root, path)
    matches = _named(store, path, lines)
    ignored = list(_reformattings(root, lines, matches))
    if ignored:
        before = blamed(root, path, ignored)
        earlier = _named(store, path, _as_committed(root, before, lines))
        for at, (line, match) in enumerate(zip(before, earlier, strict=True)):
            if matches[at] is None and match is not None and line.commit.sha != lines[at].commit.sha:
                lines[at], matches[at] = line, match
    return lines, matches


def _as_committed(
    root: Path, lines: Sequence[BlamedLine], formatted: Sequence[BlamedLine]
) -> list[BlamedLine]:
    """Each line that a formatter changed, as its commit has it."""
    contents: dict[tuple[str, str], list[str]] = {}
    committed = []
    for line, now in zip(lines, formatted, strict=True):
        if line.commit.sha != now.commit.sha:
            key = (line.commit.sha, line.path)
            if key not in contents:
                contents[key] = _content(root, f"{line.commit.sha}:{line.path}").split("\n")
            if line.original <= len(contents[key]):
                line = replace(line, text=contents[key][line.original - 1])
        committed.append(line)
    return committed


def _named(store: EditStore, path: str, lines: Sequence[BlamedLine]) -> list[LineMatch | None]:
    """The matches that are sure enough to name a session."""
    paths = list(dict.fromkeys([path, *(line.path for line in lines)]))
    matches = FileMatcher(store, paths).match(lines)
    return [match if match and confidence_of(match.evidence) is not None else None for match in matches]


def _reformattings(
    root: Path, lines: Sequence[BlamedLine], matches: Sequence[LineMatch | None]
) -> Iterator[str]:
    """Commits without a recorded edit that changed no more than the layout of the file."""
    unknown = Counter(
        (line.commit.sha, line.path)
        for line, match in zip(lines, matches, strict=True)
        if match is None and is_telling(squeezed(line.text)) and not line.commit.uncommitted
    )
    for (sha, path), number in unknown.most_common(MOST_CHECKED):
        if number >= FEWEST_LINES and _only_layout(root, sha, path):
            yield sha


def _only_layout(root: Path, sha: str, path: str) -> bool:
    after, before = (_content(root, f"{revision}:{path}") for revision in (sha, f"{sha}^"))
    if not after or not before or before == after:
        return False
    return _LAYOUT.sub("", before) == _LAYOUT.sub("", after)


def _content(root: Path, name: str) -> str:
    answer = run_git(root, "cat-file", "blob", name, seconds=_SECONDS, most_bytes=_LARGEST)
    return answer.data.decode("utf-8", "replace") if answer.whole else ""


def _origin(pair: tuple[BlamedLine, LineMatch | None]) -> tuple[object, ...]:
    line, match = pair
    if match is None:
        return (line.commit.sha,)
    return line.commit.sha, match.edit.session, match.edit.source, match.edit.prompt


def _span(store: EditStore, lines: Sequence[BlamedLine], matches: Sequence[LineMatch | None]) -> Span:
    first, sure = lines[0], [match for match in matches if match is not None]
    edit = sure[0].edit if sure else None
    scores = [score for match in sure if (score := confidence_of(match.evidence)) is not None]
    number, prompt = (0, "")
    if edit is not None:
        number, prompt = store.prompt_before(edit.session, edit.source, edit.prompt, edit.at)
    return Span(
        start=first.number,
        end=lines[-1].number,
        commit=first.commit,
        edit=edit,
        prompt_number=number,
        prompt=prompt,
        confidence=round(sum(scores) / len(scores), 2) if scores else None,
        text="\n".join(line.text for line in lines),
    )
