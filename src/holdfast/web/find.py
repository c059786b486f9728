"""The screen Search: everything that is remembered, by words and meaning, narrowed by kind, agent, branch and time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from markupsafe import Markup, escape
from msgspec import Struct

from holdfast.briefing.search import search
from holdfast.core.wording import cut_around
from holdfast.ledger.rows import read_ledger, rows, session_titles
from holdfast.memory.read import ProjectMemory
from holdfast.model.origin import origin_text
from holdfast.model.search import Hit
from holdfast.model.statement import Statement, decoded
from holdfast.web.contract import Page, Request, Route, Screen
from holdfast.web.session_list import listed

MOST_HITS = 120
_MOST_KEPT = 8  # questions
_LONGEST, _LINES = 320, 4
LONGEST_QUERY = 1_000
KINDS = {
    "decision": "Decisions",
    "fact": "Facts",
    "question": "Questions",
    "lesson": "Rules",
    "history": "Sessions",
    "ledger": "Ledger rows",
    "state": "Next steps",
    "knowledge": "Repository",
    "convention": "Conventions",
}
TIMES = (("1", "Last day"), ("7", "Last 7 days"), ("30", "Last 30 days"), ("365", "Last year"))
_DAY_S = 86_400.0


class Facet(Struct, frozen=True):
    """Something that hits can be narrowed to: the field of the address, its title, and its values with their counts."""

    name: str
    title: str
    options: Sequence[tuple[str, str, int]]
    chosen: str


class ShownHit(Struct, frozen=True):
    hit: Hit
    title: Markup
    lines: Sequence[Markup]
    url: str
    agent: str
    branch: str
    origin: str

    @property
    def kind(self) -> str:
        return _ONE.get(self.hit.kind, self.hit.kind)


_ONE = {
    "decision": "decision",
    "fact": "fact",
    "question": "question",
    "lesson": "rule",
    "history": "session",
    "ledger": "ledger row",
    "state": "next step",
    "knowledge": "repository",
    "convention": "convention",
}


def show(request: Request) -> Page:
    query = " ".join(request.query.get("q", "").replace("\0", " ").split())[:LONGEST_QUERY]
    if not query:
        return Page(
            "find.html",
            title="Search",
            query="",
            part=request.page([]),
            facets=[],
            found=0,
            titles={},
            asked={},
        )
    every = _search(request, query, None)
    of_kind = every
    if (kind := request.query.get("kind", "")) in KINDS:
        # Only where there are more hits than are looked at can a search of one kind find more of it.
        all_seen = len(every) < MOST_HITS
        of_kind = [hit for hit in every if hit.kind == kind] if all_seen else _search(request, query, (kind,))
    about = _About(request)
    chosen = [hit for hit in of_kind if about.fits(hit)]
    part = request.page(chosen)
    return Page(
        "find.html",
        title="Search",
        query=query,
        part=part,
        hits=[_shown(request, about, hit) for hit in part.items],
        facets=about.facets(every, of_kind),
        found=len(chosen),
        titles=session_titles(request.project, [hit.session for hit in part.items if hit.session]),
        asked={name: request.query.get(name, "") for name in ("kind", "agent", "branch", "when")},
    )


def _search(request: Request, query: str, kinds: Sequence[str] | None) -> list[Hit]:
    """The hits; those of the last few questions are kept, so that narrowing and turning pages ask only once."""
    known: dict[tuple[str, str], list[Hit]] = request.kept(
        "hits", dict, "sessions", "memory", "lessons", "knowledge"
    )
    key = query, ",".join(kinds or ())
    if key not in known:
        while len(known) >= _MOST_KEPT:
            known.pop(next(iter(known)), None)
        known[key] = search(request.machine, request.project, query, MOST_HITS, kinds, waiting=True)
    return known[key]


class _About:
    """What is known of hits beside their text: the agent and the branch of their session, and when it was."""

    def __init__(self, request: Request) -> None:
        self.asked = request.query
        self.now = request.now.timestamp()
        entries = request.kept("ledger", lambda: rows(read_ledger(request.project)), "sessions")
        self._agents = request.kept(
            "agents", lambda: {entry.session: entry.agent or "" for entry in entries}, "sessions"
        )
        self._branches = request.kept("branches", lambda: _branches(request), "memory", "sessions")

    def agent(self, hit: Hit) -> str:
        return str(self._agents.get(hit.session, ""))

    def branch(self, hit: Hit) -> str:
        said = decoded(hit.data)
        own = said.branch if isinstance(said, Statement) else ""
        return own or self._branches.get(hit.session, "")

    def age(self, hit: Hit) -> float | None:
        try:
            moment = datetime.fromisoformat(hit.date.replace("Z", "+00:00"))
        except ValueError:
            return None
        return (self.now - moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) / _DAY_S

    def fits(self, hit: Hit) -> bool:
        days = self.asked.get("when", "")
        if days.isdecimal() and len(days) < 6:
            age = self.age(hit)
            if age is None or age > int(days):
                return False
        return (not self.asked.get("agent") or self.agent(hit) == self.asked["agent"]) and (
            not self.asked.get("branch") or self.branch(hit) == self.asked["branch"]
        )

    def facets(self, every: Sequence[Hit], hits: Sequence[Hit]) -> list[Facet]:
        kinds = Counter(hit.kind for hit in every)
        ages = [age for hit in hits if (age := self.age(hit)) is not None]
        times = [(days, name, sum(age <= int(days) for age in ages)) for days, name in TIMES]
        found = [
            Facet(
                "kind", "Kind", [(k, n, kinds[k]) for k, n in KINDS.items() if kinds[k]], self._asked("kind")
            ),
            Facet("agent", "Agent", _counted(map(self.agent, hits)), self._asked("agent")),
            Facet("branch", "Branch", _counted(map(self.branch, hits)), self._asked("branch")),
            Facet("when", "Time", [one for one in times if one[2]], self._asked("when")),
        ]
        return [facet for facet in found if facet.options or facet.chosen]

    def _asked(self, name: str) -> str:
        return self.asked.get(name, "")


def _counted(values: Iterable[str]) -> list[tuple[str, str, int]]:
    counts = Counter(filter(None, values))
    return [
        (value, value, count) for value, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ][:12]


def _branches(request: Request) -> Mapping[str, str]:
    """The branch of each session, as far as its record and the log say; a decision names its own."""
    known = {one.session: one.overview.branch for one in listed(request) if one.overview.branch}
    entries = ProjectMemory(request.project).entries()
    return known | {entry.session: entry.branch for _, entry in entries if entry.branch}


# --- one hit ---------------------------------------------------------------------------------------------


def _shown(request: Request, about: _About, hit: Hit) -> ShownHit:
    words = hit.grounds.words
    lines = [line for line in hit.text.split("\n") if line.strip()] or [""]
    marked = [_marked(cut_around(line, words, _LONGEST), words) for line in lines]
    holding = [line for line in marked[1:] if "<mark>" in line]
    return ShownHit(
        hit=hit,
        title=marked[0],
        lines=(holding or marked[1:])[:_LINES],
        url=_address(request, hit),
        agent=about.agent(hit),
        branch=about.branch(hit),
        origin=origin_text(hit.origin, trusted=hit.trusted, by=hit.by),
    )


def _address(request: Request, hit: Hit) -> str:
    """The page of the statement, or of the session that the hit is of."""
    for letter, address in _PAGES.items():
        if hit.id.startswith(letter):
            return address(request, hit.id)
    if hit.session:
        return request.url("session", id=hit.session)
    return request.url("repository") if hit.kind in ("knowledge", "convention") else ""


_PAGES: Mapping[str, Callable[[Request, str], str]] = {
    "D-": lambda request, id: request.url("memory.statement", id=id),
    "F-": lambda request, id: request.url("memory.facts", q=id),
    "Q-": lambda request, id: request.url("memory.questions", q=id),
    "T-": lambda request, id: request.url("memory.next", q=id),
    "lesson:": lambda request, id: request.url("memory.rules"),
}


def _marked(text: str, words: Sequence[str]) -> Markup:
    """The text with the words that were searched for marked."""
    if not words:
        return escape(text)
    pattern = re.compile(
        "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE
    )
    parts: list[Markup] = []
    end = 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


SCREEN = Screen("find", "Search", "f", "hidden", (Route("/search", show, name="find"),))
