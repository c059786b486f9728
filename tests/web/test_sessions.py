"""The screen Sessions: what it lists, every filter with its address, the heat map, keys, and many sessions at once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.web.conftest import open_page, served
from tests.web.served import Served
from tests.web.traces import PROMPT, project_of, tell

from holdfast.ledger.rows import read_ledger, rows

GATEWAY = "a09a15e0-8af4-513e-a3fb-62781dc010a7"


@pytest.fixture(scope="module")
def told_server(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demonstration, one session of which was told something."""
    folder = tmp_path_factory.mktemp("told")
    shutil.copytree(demo, folder / "demo", symlinks=True)
    machine, project = project_of(demo)
    lines = [
        (f"tidepool/limits_{number}.py", "touched often") for number in range(12)
    ]  # more than the others
    tell(project.memory, GATEWAY, machine.now().timestamp(), PROMPT, lines)
    yield from served(demo)


@pytest.fixture
def told_page(chromium: Any, told_server: Served) -> Iterator[Any]:
    yield from open_page(chromium, told_server)


def listed(text: str) -> list[str]:
    return re.findall(r'<tr id="session-([^"]+)"', text)


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("agent=codex", 3),
        ("model=claude-opus-4-7", 6),
        ("kind=docs", 1),
        ("outcome=failed", 1),
        ("branch=feat/jwt", 1),
        ("with=commits", 6),
        ("with=failures", 6),
        ("with=told", 5),
        ("from=2026-11-05&to=2026-11-06", 2),
        ("q=rate+limit", 2),
        ("q=JWT", 1),
        ("agent=codex&outcome=done&q=slow", 1),
        ("with=subagents", 0),
    ],
)
def test_each_filter_leaves_the_sessions_that_it_names(told_server: Served, query: str, most: int) -> None:
    every = listed(told_server.get(f"/{told_server.slug}/sessions"))
    found = listed(told_server.get(f"/{told_server.slug}/sessions?{query}"))
    assert len(every) == 10
    assert len(found) == most
    assert set(found) <= set(every)


@pytest.mark.parametrize(
    "query", ["agent=nobody", "from=yesterday&to=%00", "page=99999999999", "with=nothing&sort=x"]
)
def test_a_filter_that_nothing_fits_or_nobody_knows_breaks_nothing(told_server: Served, query: str) -> None:
    text = told_server.get(f"/{told_server.slug}/sessions?{query}")
    assert "No session matches" in text or len(listed(text)) == 10


def test_the_order_is_the_newest_unless_another_is_asked_for(told_server: Served, demo: Path) -> None:
    entries = rows(read_ledger(project_of(demo)[1]))
    newest = [entry.session for entry in sorted(entries, key=lambda one: one.timestamp, reverse=True)]  # type: ignore[arg-type, return-value]
    dearest = [entry.session for entry in sorted(entries, key=lambda one: -float(one.cost_usd or 0))]
    assert listed(told_server.get(f"/{told_server.slug}/sessions")) == newest
    assert listed(told_server.get(f"/{told_server.slug}/sessions?sort=cost"))[0] == dearest[0]
    assert listed(told_server.get(f"/{told_server.slug}/sessions?sort=told"))[0] == GATEWAY


@pytest.mark.slow
def test_filters_stand_in_the_address_and_come_back_with_it(told_page: Any, told_server: Served) -> None:
    told_page.goto(f"/{told_server.slug}/sessions")
    with told_page.expect_navigation():
        told_page.select_option("select[name=agent]", "codex")
    with told_page.expect_navigation():
        told_page.select_option("select[name=sort]", "cost")
    query = parse_qs(urlsplit(told_page.url).query)
    assert query == {"agent": ["codex"], "sort": ["cost"]}  # no empty ones
    assert told_page.locator("[data-row]").count() == 3
    told_page.goto(told_page.url)
    assert told_page.input_value("select[name=agent]") == "codex"
    told_page.fill(".filters input[name=q]", "slow")
    with told_page.expect_navigation():
        told_page.keyboard.press("Enter")
    assert told_page.locator("[data-row]").count() == 1
    told_page.locator("h1").click()
    with told_page.expect_navigation():
        told_page.keyboard.press("x")
    assert told_page.locator("[data-row]").count() == 10
    told_page.go_back()
    assert told_page.locator("[data-row]").count() == 1


@pytest.mark.slow
def test_a_day_of_the_heat_map_leads_to_its_sessions(told_page: Any, told_server: Served) -> None:
    told_page.goto(f"/{told_server.slug}/sessions")
    day = told_page.locator("#sessions-by-day svg a").first
    label = day.get_attribute("aria-label")
    assert re.fullmatch(r"Monday, 2 November 2026: 1 session, \$0\.38", label), label
    with told_page.expect_navigation():
        day.click()
    assert told_page.locator("[data-row]").count() == 1
    assert told_page.locator("rect.marked").count() == 1


@pytest.mark.slow
def test_rows_are_walked_and_opened_by_keys_alone(told_page: Any, told_server: Served) -> None:
    told_page.goto(f"/{told_server.slug}/sessions")
    for _ in range(10):
        told_page.keyboard.press("j")
    assert told_page.locator("[data-row][aria-current]").get_attribute("id") == f"session-{GATEWAY}"
    assert "12 lines" in told_page.locator("[data-row][aria-current]").inner_text()
    with told_page.expect_navigation():
        told_page.keyboard.press("Enter")
    assert GATEWAY in told_page.url
    with told_page.expect_navigation():
        told_page.keyboard.press("[")
    assert GATEWAY not in told_page.url


def test_many_sessions_are_shown_a_page_at_a_time_and_filters_stay(tmp_path: Path) -> None:
    from bench.ui_home import make_home

    make_home(tmp_path, 180, 10)
    for serving in served(tmp_path):
        first = listed(serving.get(f"/{serving.slug}/sessions"))
        last = listed(serving.get(f"/{serving.slug}/sessions?page=4"))
        assert (len(first), len(last)) == (50, 40)  # with those of the demonstration
        assert not {*first} & {*last}
        text = serving.get(f"/{serving.slug}/sessions?sort=cost&outcome=done")
        older = re.search(r'rel="next" href="([^"]+)"', text)
        assert older is not None
        assert "sort=cost" in older[1]
        assert "outcome=done" in older[1]
