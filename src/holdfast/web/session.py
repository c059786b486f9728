"""The screen of one session: what was asked and done, what it cost, what memory told it, and what it left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.agents.resume import resume_command
from holdfast.core.session_id import short_session
from holdfast.core.wording import dollars
from holdfast.flows import forget as forgetting
from holdfast.guard.inert import inert
from holdfast.memory.read import ProjectMemory
from holdfast.model.events import DistilledSession
from holdfast.transcripts.find import Recorded, find_session
from holdfast.transcripts.scenes import heading, scenes_of, source_note
from holdfast.transcripts.story import Sum
from holdfast.web.charts import Chart, Stack, columns
from holdfast.web.contract import Changed, Download, Fragment, Page, Request, Route, Screen
from holdfast.web.session_list import entries_of, listed
from holdfast.web.session_story import Item, Story, Turn, story_of

MOST_FILES = 400
MOST_COLUMNS = 60
SHOWN_ORDER = ("decision", "rule", "cause", "measurement", "answer", "dead_end", "next_step")
VIEWS = {"": "Everything", "talk": "Words only", "failed": "Failures only"}
KIND_WORDS = {"dead_end": "dead end", "next_step": "next step"}


class Settled(Struct, frozen=True):
    """What the session decided or found, as memory has it."""

    id: str
    kind: str
    status: str
    text: str
    reason: str = ""
    by: str = ""


def show(request: Request) -> Page:
    found = _found(request, request.path["id"])
    story = story_of(request.machine, request.project, found)
    at = request.query.get("at", "")
    number = story.page_of(int(at)) if at.isdecimal() and len(at) < 6 else _page(request, story)
    view = request.query.get("view", "") if request.query.get("view") in VIEWS else ""
    newer, older = _neighbours(request, found.session)
    row, record = found.row, found.record
    titles = heading(request.project, found)
    return Page(
        "session.html",
        title=titles[0] if titles else "Session",
        found=found,
        row=row,
        record=record,
        short=short_session(found.session),
        resume=resume_command(record.agent, found.session, record.cwd) if record else "",
        note=source_note(request.project, found),
        story=story,
        turns=[_only(turn, view) for turn in story.pages[number - 1]] if view else story.pages[number - 1],
        page_number=number,
        view=view,
        views=[
            (text, request.url("session", id=found.session, view=name) + "#timeline", "")
            for name, text in VIEWS.items()
        ],
        view_title=VIEWS[view],
        newer=newer,
        older=older,
        use_counts=Counter(line.use for moment in story.moments for line in moment.lines if line.use),
        told_tokens=sum(moment.entry.tokens for moment in story.moments),
        cost=_cost_chart(story.sums),
        settled=list(_settled(request, record)) if record else [],
        files=sorted(record.files, key=lambda file: (-file.edits, -file.reads, file.path))[:MOST_FILES]
        if record
        else [],
        commits=[line.partition(" ")[::2] for line in record.harvest.commits] if record else [],
    )


def _found(request: Request, session: str) -> Recorded:
    assert request.opened is not None
    return find_session(request.project, session, entries_of(request, request.opened))


def _neighbours(request: Request, session: str) -> tuple[str, str]:
    """The sessions before and after this one in the list, the newest first."""
    every = listed(request)
    at = next((number for number, one in enumerate(every) if one.session == session), None)
    if at is None:
        return "", ""
    return every[at - 1].session if at else "", every[at + 1].session if at + 1 < len(every) else ""


def _only(turn: Turn, view: str) -> Turn:
    """A turn without what the view leaves out."""
    if view == "talk":
        kept = [item for item in turn.items if item.kind in ("answer", "note")]
    else:
        kept = [_failed(item) for item in turn.items if item.failed or item.failure]
    return Turn(turn.number, turn.prompt, kept, turn.sum, turn.continued)


def _failed(item: Item) -> Item:
    return Item(item.kind, item.at, item.text, item.failure, [row for row in item.rows if row.tone == "bad"])


def _page(request: Request, story: Story) -> int:
    asked = request.query.get("page", "1")
    return min(max(int(asked) if asked.isdecimal() and len(asked) < 6 else 1, 1), len(story.pages))


def _cost_chart(sums: Sequence[Sum]) -> Chart | None:
    """What each prompt cost; the last ones, where there are many."""
    priced = [one for one in sums if one.cost_usd is not None]
    if len(priced) < 2:
        return None
    shown = priced[-MOST_COLUMNS:]
    return columns(
        "cost-by-prompt",
        "Cost by prompt",
        [Stack(label=f"#{one.prompt}", values=[float(one.cost_usd or 0)]) for one in shown],
        unit="US dollars" if len(shown) == len(priced) else f"US dollars, the last {len(shown)}",
        write=dollars,
        what="Prompt",
    )


def _settled(request: Request, record: DistilledSession) -> Iterator[Settled]:
    """Decisions and findings, without those that a person took out."""
    gone = request.kept("dismissed", lambda: ProjectMemory(request.project).dismissed, "memory")
    seen: set[str] = set()
    for decision in record.harvest.decisions:
        if decision.id not in gone and decision.id not in seen:
            seen.add(decision.id)
            yield Settled(decision.id, "decision", "agreed", decision.text, decision.rationale, decision.by)
    order = {kind: number for number, kind in enumerate(SHOWN_ORDER)}
    for passage in sorted(record.passages, key=lambda one: (order.get(one.kind, 9), -one.worth)):
        if passage.id not in gone and passage.id not in seen:
            seen.add(passage.id)
            kind = KIND_WORDS.get(passage.kind, passage.kind)
            yield Settled(passage.id, kind, passage.status, passage.text, passage.question, passage.by)


# --- taking it along -----------------------------------------------------------------------------------


def as_html(request: Request) -> Download:
    from holdfast.transcripts.as_html import html

    found = _found(request, request.query.get("id", ""))
    scenes = scenes_of(request.machine, request.project, found)
    text = "\n".join(html(heading(request.project, found), scenes))
    return Download(f"session-{short_session(found.session)}.html", text, "html", whole=True)


def as_markdown(request: Request) -> Page | Download:
    from holdfast.transcripts.as_markdown import markdown

    found = _found(request, request.query.get("id", ""))
    lines = heading(request.project, found)
    text = "\n".join(markdown(lines, scenes_of(request.machine, request.project, found)))
    if request.query.get("save"):
        return Download(f"session-{short_session(found.session)}.md", text, "md", whole=True)
    return Page(
        "session_markdown.html",
        title=lines[0] if lines else "Session",
        session=found.session,
        text=inert(text),
    )


# --- forgetting ----------------------------------------------------------------------------------------


def ask_forget(request: Request) -> Fragment:
    found = _found(request, request.query.get("id", ""))
    wanted = forgetting.resolve(request.project, [found.session], [], [])
    report = forgetting.preview(request.machine, request.project, wanted)
    return Fragment(
        "session_forget.html", report=report, session=found.session, short=short_session(found.session)
    )


def forget(request: Request) -> Changed:
    """Not by `change`: nothing brings back what was forgotten, so there is no undo to offer."""
    wanted = forgetting.resolve(request.project, [request.form.get("id", "")], [], [])
    report = forgetting.forget(request.machine, request.project, wanted)
    places = sum(report.removed.values())
    return Changed(
        f"Session {short_session(wanted.sessions[0])} is forgotten: {places} places in {len(report.removed)} files",
        goto=request.url("sessions"),
    )


SCREEN = Screen(
    "session",
    "Session",
    "",
    "hidden",
    (
        Route("/session/{id:path}", show, name="session"),
        Route("/session-html", as_html, name="session.html"),
        Route("/session-markdown", as_markdown, name="session.markdown"),
        Route("/session-forget", ask_forget, name="session.ask_forget"),
        Route("/session-forget", forget, "POST", name="session.forget"),
    ),
    under="sessions",
)
