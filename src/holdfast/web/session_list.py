"""The sessions of one project or of all, as the list and the screen Now show them, and the filters of the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from holdfast.briefing.explain import injections, is_heading
from holdfast.core.model_names import undated
from holdfast.core.wording import dollars
from holdfast.ledger.rows import read_ledger, rows, titles_of
from holdfast.model.ledger import LedgerEntry
from holdfast.sessions.overview import Overview, Overviews
from holdfast.web.contract import Opened, Request

_NONE = Overview()
_overviews: dict[Path, Overviews] = {}  # by memory; a reading that is kept is made again from these


class Told(Struct, frozen=True):
    """How much hooks put into a session."""

    lines: int = 0
    tokens: int = 0


_NOTHING = Told()


class Listed(Struct, frozen=True, gc=False):
    """A session in the list."""

    opened: Opened
    entry: LedgerEntry
    overview: Overview
    told: Told
    day: date | None
    title: str = ""

    @property
    def session(self) -> str:
        return self.entry.session

    @property
    def model(self) -> str:
        return self.entry.model or ""


def listed(request: Request) -> list[Listed]:
    """Every session, the newest first."""
    every = [one for opened in request.projects for one in _of_project(request, opened)]
    if len(request.projects) > 1:
        every.sort(key=_moment, reverse=True)
    return every


def _of_project(request: Request, opened: Opened) -> Sequence[Listed]:
    def make() -> Sequence[Listed]:
        overviews = _overviews.setdefault(opened.project.memory, Overviews(opened.project.capture)).read()
        told = request.kept_of(opened, "told-counts", lambda: told_counts(opened), "hooks")
        found = [_listed(opened, entry, overviews, told) for entry in entries_of(request, opened)]
        found.sort(key=_moment, reverse=True)
        return found

    return request.kept_of(opened, "listed", make, "sessions", "hooks")


def entries_of(request: Request, opened: Opened) -> list[LedgerEntry]:
    return request.kept_of(opened, "ledger", lambda: rows(read_ledger(opened.project)), "sessions")


def told_counts(opened: Opened) -> dict[str, Told]:
    lines: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for entry in injections(opened.project):
        if entry.session and entry.lines:
            lines[entry.session] += sum(not is_heading(line) for line in entry.lines)
            tokens[entry.session] += entry.tokens
    return {session: Told(lines[session], tokens[session]) for session in lines}


def _listed(
    opened: Opened, entry: LedgerEntry, overviews: Mapping[str, Overview], told: Mapping[str, Told]
) -> Listed:
    overview = overviews.get(entry.session, _NONE)
    day = None if entry.timestamp is None else _local_day(entry)
    title = overview.title or overview.goal or " ".join(entry.goal)
    return Listed(opened, entry, overview, told.get(entry.session, _NOTHING), day, title)


def _local_day(entry: LedgerEntry) -> date | None:
    try:
        return None if entry.timestamp is None else entry.timestamp.astimezone().date()
    except (OverflowError, ValueError, OSError):  # the first and the last year have no other zone
        return None


def _moment(one: Listed) -> float:
    return one.entry.timestamp.timestamp() if one.entry.timestamp else 0.0


def titles(part: Iterable[Listed]) -> dict[str, str]:
    """The titles of one page; records of earlier versions make theirs from their words."""
    named = {one.session: one.title for one in part}
    untitled = [one for one in part if not one.overview.title]
    for opened in {one.opened.slug: one.opened for one in untitled}.values():
        entries = [one.entry for one in untitled if one.opened.slug == opened.slug]
        named |= titles_of(opened.project, entries)
    return named


# --- filters -------------------------------------------------------------------------------------------


def has_failed_task(entry: LedgerEntry) -> bool:
    """What the rates of the screen Cost count."""
    return entry.tasks is not None and 0 < (entry.failed or 0) <= entry.tasks


class Choice(Struct, frozen=True):
    """A filter whose values are those that sessions have."""

    name: str
    label: str
    of: Callable[[Listed], str]
    first: bool = True  # others are under "More filters"


CHOICES = (
    Choice("agent", "Agent", lambda one: one.entry.agent or ""),
    Choice("model", "Model", lambda one: undated(one.model)),
    Choice("kind", "Kind", lambda one: one.entry.kind or "", first=False),
    Choice("outcome", "Outcome", lambda one: one.entry.outcome or "unknown"),
    Choice("branch", "Branch", lambda one: one.overview.branch, first=False),
)
WITH: Mapping[str, tuple[str, Callable[[Listed], bool]]] = {
    "told": ("Lines from memory", lambda one: one.told.lines > 0),
    "failed": ("A failed task", lambda one: has_failed_task(one.entry)),
    "commits": ("Commits", lambda one: bool(one.entry.commits)),
    "failures": ("Failed calls", lambda one: one.overview.failed_calls > 0),
    "subagents": ("Subagents", lambda one: one.overview.subagents > 0),
    "headless": ("No person (headless)", lambda one: one.overview.headless),
}
SORTS: Mapping[str, tuple[str, Callable[[Listed], float]]] = {
    "cost": ("Highest cost", lambda one: float(one.entry.cost_usd or 0)),
    "time": ("Longest", lambda one: float(one.entry.duration_s or 0)),
    "failures": ("Most failed calls", lambda one: float(one.overview.failed_calls)),
    "told": ("Most lines from memory", lambda one: float(one.told.lines)),
}
FIELDS = ("q", *(choice.name for choice in CHOICES), "with", "from", "to", "sort")


class Wanted(Struct, frozen=True):
    """The filters of an address."""

    values: Mapping[str, str]
    first: date | None
    last: date | None
    words: tuple[str, ...]

    @property
    def any(self) -> bool:
        return any(value for name, value in self.values.items() if name != "sort")

    @property
    def more(self) -> bool:
        """Whether a filter is used that stands under "More filters"."""
        folded = ("from", "to", *(choice.name for choice in CHOICES if not choice.first))
        return any(self.values[name] for name in folded)

    def matches(self, one: Listed, *, days: bool = True) -> bool:
        if days and not self._has_day(one.day):
            return False
        for choice in CHOICES:
            if (value := self.values[choice.name]) and choice.of(one) != value:
                return False
        if (only := WITH.get(self.values["with"])) is not None and not only[1](one):
            return False
        return not self.words or _has_words(one, self.words)

    def _has_day(self, day: date | None) -> bool:
        if day is None:
            return not (self.first or self.last)
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)

    def sorted(self, found: list[Listed]) -> list[Listed]:
        by = SORTS.get(self.values["sort"])
        return found if by is None else sorted(found, key=by[1], reverse=True)


def wanted_of(query: Mapping[str, str]) -> Wanted:
    values = {name: query.get(name, "").strip() for name in FIELDS}
    words = tuple(values["q"].casefold().split())
    return Wanted(values, _date(values["from"]), _date(values["to"]), words)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _has_words(one: Listed, words: Sequence[str]) -> bool:
    entry, overview = one.entry, one.overview
    said = (one.title, overview.goal, overview.branch, one.session, *entry.goal, entry.model, entry.agent)
    text = " ".join(filter(None, said)).casefold()
    return all(word in text for word in words)


class Sums(Struct, frozen=True):
    sessions: int
    cost: Decimal
    unpriced: int
    incomplete: int
    seconds: int
    commits: int

    @property
    def shown_cost(self) -> str:
        """`≥` where the cost of a session is not known or its usage incomplete, `?` where none is known."""
        if self.sessions and self.unpriced == self.sessions:
            return "?"
        return f"{'≥ ' if self.unpriced or self.incomplete else ''}{dollars(self.cost)}"


def sums_of(found: Sequence[Listed]) -> Sums:
    costs = [one.entry.cost_usd for one in found]
    return Sums(
        sessions=len(found),
        cost=sum((cost for cost in costs if cost is not None), Decimal(0)),
        unpriced=sum(cost is None for cost in costs),
        incomplete=sum(bool(one.entry.usage) for one in found),
        seconds=sum(one.entry.duration_s or 0 for one in found),
        commits=sum(one.entry.commits or 0 for one in found),
    )


def values_of(every: Sequence[Listed], choice: Choice) -> list[str]:
    """The values that occur, the most frequent first."""
    counts = Counter(map(choice.of, every))
    counts.pop("", None)
    return [value for value, _ in counts.most_common(40)]
