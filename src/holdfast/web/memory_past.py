"""Memory, its past: everything about a word or a file in order of time, and every change of the files of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from holdfast.briefing.history import logged
from holdfast.core.errors import NotFound, StoreError
from holdfast.core.git import git_text
from holdfast.flows.undo import change_and_diff, latest_changes
from holdfast.ledger.rows import session_titles
from holdfast.memory.decisions import shown_text
from holdfast.memory.read import or_nothing
from holdfast.model.memory import LogEntry
from holdfast.web.contract import Page, Request, Route
from holdfast.web.memory_lists import (
    LOOK_AGAIN_S,
    MEMORY,
    facts_of,
    questions_of,
    rules_of,
    statements_of,
    steps_of,
    views,
)

MOST_COMMITS = 200
_SIGN = "\x1f"
KINDS = {"dead_end": "dead end", "next_step": "next step"}


class Moment(Struct, frozen=True, kw_only=True):
    """Something that was said, done or committed at a time."""

    at: float
    kind: str
    text: str
    session: str = ""
    note: str = ""
    id: str = ""


def show_timeline(request: Request) -> Page:
    about = " ".join(request.query.get("about", "").replace("\0", " ").split())
    part = request.page(_moments(request, about) if about else [])
    sessions = [moment.session for moment in part.items if moment.session]
    return Page(
        "memory_timeline.html",
        title="Timeline",
        views=views(request),
        about=about,
        part=part,
        titles=session_titles(request.project, sessions),
        day_of=lambda moment: datetime.fromtimestamp(moment.at).astimezone().date() if moment.at else None,
    )


class _LastTimeline:
    """The timeline that was asked for last: its pages are turned without making it again."""

    about = ""
    at = 0
    moments: Sequence[Moment] = ()


def _moments(request: Request, about: str) -> Sequence[Moment]:
    last = request.kept("timeline", _LastTimeline, "sessions", MEMORY, "lessons")
    moment = int(request.now.timestamp()) // LOOK_AGAIN_S  # commits are in no topic
    if (last.about, last.at) != (about, moment):
        found = {(one.kind, one.text): one for one in _about(request, about)}
        last.moments = sorted(found.values(), key=lambda one: (-one.at, one.text))
        last.about, last.at = about, moment
    return last.moments


def _about(request: Request, about: str) -> Iterator[Moment]:
    wanted = about.casefold().split()

    def holds(*texts: str) -> bool:
        text = " ".join(texts).casefold()
        return all(word in text for word in wanted)

    for said in statements_of(request).about(wanted):
        text = shown_text(said) if said.kind != "dead_end" else f"{said.not_}: {said.reason}"
        yield Moment(
            at=said.at or 0.0,
            kind=KINDS.get(said.kind, said.kind),
            text=text,
            session=said.session,
            note=f"because {said.reason}" if said.reason and said.kind == "decision" else "",
            id=said.id,
        )
    for kept in facts_of(request):
        fact = kept.fact
        if holds(fact.text, fact.evidence, fact.command):
            note = "retired since" if kept.retired_at is not None else fact.evidence
            yield Moment(at=fact.at or 0.0, kind="fact", text=fact.text, session=fact.session, note=note)
    for question in questions_of(request):
        if holds(question.text, question.answer):
            answer = question.answer or ("closed" if question.closed else "still open")
            yield Moment(
                at=question.answered_at or question.at or 0.0,
                kind="question",
                text=question.text,
                session=question.session,
                note=answer,
            )
    for step in steps_of(request):
        if holds(step.item.text, step.item.why):
            note = step.closed or step.item.why
            yield Moment(
                at=step.item.at or 0.0,
                kind="next step",
                text=step.item.text,
                session=step.item.session,
                note=note,
            )
    for status in rules_of(request).lessons:
        if holds(status.lesson.name, *status.lesson.rules):
            rules = "; ".join(status.lesson.rules)
            yield Moment(at=status.lesson.captured_at or 0.0, kind="rule", text=rules, note=status.state)
    for entry in request.kept("log", lambda: _entries(request), MEMORY):
        if holds(entry.context, entry.summary, *entry.files, *entry.commits):
            files = [name for name in entry.files if holds(name)]
            yield Moment(
                at=entry.at or 0.0,
                kind="session",
                text=entry.context or entry.summary or "A session",
                session=entry.session,
                note=", ".join(files[:3]) or entry.outcome,
            )
    yield from _commits(request, about)


def _entries(request: Request) -> Sequence[LogEntry]:
    return list(or_nothing(lambda: logged(request.machine, request.project)[0]))


def _commits(request: Request, about: str) -> Iterator[Moment]:
    """Commits of a file, or those whose message holds the words."""
    root = request.project.root
    of_file = not about.startswith("-") and (root / about).is_file()
    chosen = ["--follow", "--", about] if of_file else ["-i", "-F", f"--grep={about}"]
    form = f"--format=%H{_SIGN}%ct{_SIGN}%an{_SIGN}%s"
    for line in git_text(root, "log", f"--max-count={MOST_COMMITS}", form, *chosen).splitlines():
        sha, at, author, subject = [*line.split(_SIGN), "", "", ""][:4]
        if at.isdecimal():
            yield Moment(at=float(at), kind="commit", text=subject, note=f"{author} · {sha[:8]}")


def show_history(request: Request) -> Page:
    asked = request.query
    wanted = asked.get("page", "1")
    number = max(int(wanted), 1) if wanted.isdecimal() and len(wanted) < 8 else 1
    latest = latest_changes(request.here, request.project, number)
    chosen = asked.get("change", "")
    opened = None
    if chosen.isdecimal() and len(chosen) < 10:
        try:
            opened = change_and_diff(request.here, request.project, int(chosen), asked.get("file") or None)
        except StoreError as error:  # the journal names it, but its content is not kept
            raise NotFound(error.problem, fix="Choose another change") from error
    return Page(
        "memory_history.html",
        title="History",
        views=views(request),
        changes=latest.changes,
        total=latest.total,
        pages=latest.pages,
        number=latest.page,
        opened=opened,
    )


ROUTES = (Route("/memory/timeline", show_timeline), Route("/memory/history", show_history))
