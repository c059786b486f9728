"""Figures lead to what they count, and say the same everywhere."""

from __future__ import annotations

import re
from html import unescape

from tests.web.served import Served


def rows_at(server: Served, address: str) -> int:
    return len(re.findall(r'<tr id="session-', server.get(unescape(address))))


def test_a_column_of_the_cost_leads_to_the_sessions_of_its_day(demo_server: Served) -> None:
    page = demo_server.get(f"/{demo_server.slug}/cost")
    leads = dict(re.findall(r'<a href="([^"]*from=(2026-11-\d\d)[^"]*)"', page))
    by_day = {day: rows_at(demo_server, url) for url, day in leads.items()}
    assert by_day["2026-11-04"] == 2 and by_day["2026-11-09"] == 2
    assert sum(by_day.values()) == 10


def test_a_column_of_a_week_or_a_month_leads_to_all_its_sessions(demo_server: Served) -> None:
    for by in ("week", "month"):
        page = demo_server.get(f"/{demo_server.slug}/cost?by={by}")
        leads = set(re.findall(r'<a href="([^"]*from=2026-[^"]*)"', page))
        assert sum(rows_at(demo_server, url) for url in leads) == 10


def test_a_bar_leads_to_the_sessions_of_its_model_dated_or_not(demo_server: Served) -> None:
    page = demo_server.get(f"/{demo_server.slug}/cost?split=model")
    leads = set(re.findall(r'<a href="([^"]*sessions\?model=[^"]*)" tabindex', page))
    assert sorted(rows_at(demo_server, url) for url in leads) == [1, 3, 6]


def test_the_heading_of_a_filtered_list_says_how_many_of_how_many(demo_server: Served) -> None:
    page = demo_server.get(f"/{demo_server.slug}/sessions?agent=codex")
    assert re.search(r"<h1>Sessions <span class=\"count\">3 of 10</span>", page)


def test_what_was_superseded_links_to_the_decision_in_its_place(demo_server: Served) -> None:
    page = demo_server.get(f"/{demo_server.slug}/memory?q=five+times")
    (link,) = re.findall(r'Superseded by <a href="([^"]+)"', page)
    assert "at most three times" in demo_server.get(unescape(link))


def test_a_rule_that_agents_were_shown_says_how_often(demo_server: Served) -> None:
    assert "shown to agents" in demo_server.get(f"/{demo_server.slug}/memory/rules")


def test_what_failed_on_cost_is_what_failed_on_sessions(demo_server: Served) -> None:
    page = demo_server.get(f"/{demo_server.slug}/cost?split=agent")
    told = re.findall(r'<a href="([^"]*with=failed[^"]*)">(\d+) of \d+</a>', page)
    assert told
    for url, count in told:
        assert rows_at(demo_server, url) == int(count)
        rows = re.findall(r"\d+ of \d+ tasks? failed", demo_server.get(unescape(url)))
        assert len(rows) == int(count)
    every = sum(int(count) for _, count in told)
    assert rows_at(demo_server, f"/{demo_server.slug}/sessions?with=failed") == every


def test_a_bar_with_two_figures_has_two_columns_to_copy(demo_server: Served) -> None:
    page = unescape(demo_server.get(f"/{demo_server.slug}/cost"))
    (copied,) = re.findall(r'data-copy="(Model,US dollars[^"]*)"', page)
    assert {line.count(",") for line in copied.strip().splitlines()} == {2}
