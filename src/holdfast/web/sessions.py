"""The screen Sessions: what agents did, by day and one by one, filtered by anything. The address holds the filters."""

from __future__ import annotations

from collections import Counter
from datetime import date

from holdfast.core.wording import dollars, short_model
from holdfast.web.charts import Chart, heat
from holdfast.web.contract import Page, Request, Route, Screen
from holdfast.web.session_list import (
    CHOICES,
    SORTS,
    WITH,
    Choice,
    Listed,
    Wanted,
    listed,
    sums_of,
    titles,
    values_of,
    wanted_of,
)

MOST_WEEKS = 53


def show(request: Request) -> Page:
    every = listed(request)
    wanted = wanted_of(request.query)
    on_any_day = [one for one in every if wanted.matches(one, days=False)] if wanted.any else every
    found = [one for one in on_any_day if wanted.matches(one)] if wanted.first or wanted.last else on_any_day
    found = wanted.sorted(found)
    part = request.page(found)
    return Page(
        "sessions.html",
        title="Sessions",
        part=part,
        titles=titles(part.items),
        total=len(every),
        sums=sums_of(found),
        heat=_heat(request, wanted, on_any_day),
        choices=[(choice, _options(request, every, choice)) for choice in CHOICES],
        withs=[(name, label) for name, (label, _) in WITH.items()],
        sorts=[(name, label) for name, (label, _) in SORTS.items()],
        wanted=wanted,
        failed_calls=sum(one.overview.failed_calls for one in found),
    )


def _options(request: Request, every: list[Listed], choice: Choice) -> list[tuple[str, str]]:
    def make() -> list[tuple[str, str]]:
        values = values_of(every, choice)
        return [(value, short_model(value) if choice.name == "model" else value) for value in values]

    if request.opened is None:
        return make()
    return request.kept(f"options-{choice.name}", make, "sessions")


def _heat(request: Request, wanted: Wanted, found: list[Listed]) -> Chart | None:
    """A year that ends today, or with the last session where that is long ago."""
    days = Counter(one.day for one in found if one.day is not None)
    if not days:
        return None
    today = request.now.astimezone().date()
    newest = max(days)
    until = today if 0 <= (today - newest).days < 7 * (MOST_WEEKS - 4) else newest
    kept = {name: value for name, value in wanted.values.items() if name not in ("from", "to")}
    spent: Counter[date] = Counter()
    for one in found:
        if one.day is not None and one.entry.cost_usd:
            spent[one.day] += one.entry.cost_usd  # type: ignore[assignment]

    def url(day: date) -> str:
        return request.url("sessions", **kept, **{"from": day.isoformat(), "to": day.isoformat()})

    return heat(
        "sessions-by-day",
        "Sessions by day",
        days,
        unit="sessions",
        until=until,
        url=url,
        marked=wanted.first if wanted.first and wanted.first == wanted.last else None,
        more=lambda day: dollars(spent[day]),
    )


SCREEN = Screen("sessions", "Sessions", "s", "tab", (Route("/sessions", show, everywhere=True),))
