"""Repository, one file: its lines with the session behind each span, and the decisions that name it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.git import git_text
from holdfast.flows.blame import blame
from holdfast.guard.hidden_text import path_text
from holdfast.knowledge.store import load
from holdfast.language.title import named_plan
from holdfast.model.knowledge import FileNote
from holdfast.model.statement import Statement
from holdfast.provenance.index import open_edits
from holdfast.provenance.match import path_fit
from holdfast.provenance.origins import FileBlame, SpanOrigin, in_words
from holdfast.provenance.target import Target, target_from
from holdfast.web.contract import Fragment, Page, Request, Route
from holdfast.web.memory_lists import MEMORY, statements_of

LINES_OF_A_PAGE = 400
_MOST_DECISIONS = 12
_LONGEST_LINE = 2_000
_LONGEST_PROMPT = 400


class ShownSpan(Struct, frozen=True):
    """A span with its lines as they stand in the file. `tone` says how sure the session is."""

    origin: SpanOrigin
    lines: Sequence[tuple[int, str]]

    @property
    def known(self) -> bool:
        return self.origin.session is not None

    @property
    def sure(self) -> str:
        confidence = self.origin.span.confidence
        return in_words(confidence) if confidence is not None else ""

    @property
    def tone(self) -> str:
        return {"sure": "good", "likely": "accent", "perhaps": "warn"}.get(
            self.sure.partition(" ")[0], "plain"
        )

    @property
    def at(self) -> datetime | None:
        span = self.origin.span
        at = span.edit.at if span.edit is not None and span.commit.uncommitted else span.commit.authored
        return datetime.fromtimestamp(at, UTC) if at else None

    @property
    def prompt(self) -> str:
        return " ".join(named_plan(self.origin.span.prompt).split())[:_LONGEST_PROMPT]


def _target(request: Request) -> Target:
    return target_from(request.query.get("path", "").strip(), request.project.root)


def show(request: Request) -> Page:
    """The page at once; its lines follow, because new transcripts may have to be read for them first."""
    target = _target(request)
    note = next(
        (one for one in load(request.project).now.files if one.path == target.path),
        FileNote(path=target.path),
    )
    return Page(
        "repository_file.html",
        title=path_text(target.path),
        path=target.path,
        note=note,
        lines=request.query.get("from", ""),
        decisions=_decisions(request, target.path),
        beside=_beside(request, target.path),
    )


def _decisions(request: Request, path: str) -> list[Statement]:
    """Decisions, causes and rules that name the file, the newest first."""
    name = Path(path).name.casefold()
    if len(name) < 4:
        return []
    kinds = ("decision", "rule", "cause", "dead_end")
    found = [said for said in statements_of(request).about([name]) if said.kind in kinds]
    return sorted(found, key=lambda said: said.order, reverse=True)[:_MOST_DECISIONS]


def _beside(request: Request, path: str) -> list[Statement]:
    """What was decided in the sessions that are known to have changed the file, the newest first."""
    with closing(open_edits(request.project)) as store:
        edits = store.edits_of([Path(path).name])
    sessions = {edit.session for edit in edits if path_fit(edit, [path])}
    found = statements_of(request).agreed_in(sessions)
    return sorted(found, key=lambda said: said.order, reverse=True)[:_MOST_DECISIONS]


def show_lines(request: Request) -> Fragment:
    target = _target(request)
    whole = Target(target.root, target.path)
    stat = (target.root / target.path).stat()
    stamp = f"{stat.st_mtime_ns}.{stat.st_size}.{git_text(target.root, 'rev-parse', 'HEAD')}"
    found = request.kept(
        f"blame {target.path}",
        lambda: _Blamed(stamp, blame(request.here, request.project, whole)),
        MEMORY,
    )
    if found.stamp != stamp:  # the file or its history changed, which no topic watches
        found.stamp, found.blame = stamp, blame(request.here, request.project, whole)
    lines = _text(target.root / target.path)
    asked = request.query.get("from", "1")
    first = int(asked) if asked.isdecimal() and len(asked) < 10 else 1
    first = min(max(first, 1), max(len(lines), 1))
    last = min(first + LINES_OF_A_PAGE - 1, len(lines))
    spans = _shown(found.blame, lines, first, last)
    known = [span for span in found.blame.spans if span.session is not None]
    return Fragment(
        "repository_lines.html",
        path=target.path,
        spans=spans,
        first=first,
        last=last,
        total=len(lines),
        next=last + 1 if last < len(lines) else 0,
        before=max(first - LINES_OF_A_PAGE, 1) if first > 1 else 0,
        written=sum(span.size for span in known),
        sessions=len({span.session for span in known}),
        shallow=found.blame.shallow,
        problems=found.blame.problems,
    )


class _Blamed(Struct):
    stamp: str
    blame: FileBlame


def _text(path: Path) -> list[str]:
    text = (files.read(path) or b"").decode("utf-8", "replace")
    return [line.rstrip("\r")[:_LONGEST_LINE] for line in text.removesuffix("\n").split("\n")] if text else []


def _shown(found: FileBlame, lines: Sequence[str], first: int, last: int) -> list[ShownSpan]:
    """The spans from `first` to `last`. Neighbours without a session, of one commit, are one already."""
    shown = []
    for origin in found.spans:
        start, end = max(origin.span.start, first), min(origin.span.end, last)
        if start <= end:
            shown.append(ShownSpan(origin, [(number, lines[number - 1]) for number in range(start, end + 1)]))
    return shown


ROUTES = (Route("/repository/file", show), Route("/repository/lines", show_lines))
