"""Search, Cost and Repository over a seeded project, and hostile text in every field that the screens show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import open_page, served
from tests.web.seeded import CLIENT, SESSION, seed
from tests.web.served import Served

from holdfast.ledger.rows import read_ledger, rows
from holdfast.store.machine import Machine

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}}"
FILE = "src/tidepool/client.py"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return seed(tmp_path_factory.mktemp("seeded"))


@pytest.fixture(scope="module")
def seeded(machine: Machine) -> Iterator[Served]:
    yield from served(machine.cwd.parent)


@pytest.fixture
def seeded_page(chromium: Any, seeded: Served) -> Iterator[Any]:
    yield from open_page(chromium, seeded)


# --- search ----------------------------------------------------------------------------------------------


def test_a_hit_has_its_words_marked_and_leads_to_its_statement_and_session(seeded: Served) -> None:
    page = seeded.get(f"/{seeded.slug}/search?q=attempts+tide")
    assert "<mark>attempts</mark>" in page
    found = re.search(r'href="(/[^"]*/memory/statement/D-[^"]*)"', page)
    assert found is not None
    assert "at most five attempts" in seeded.get(found[1])
    assert f"/session/{SESSION}" in page


@pytest.mark.parametrize("facet", ["kind", "agent", "branch", "when"])
def test_every_value_of_a_facet_leads_to_as_many_hits_as_it_says(facet: str, seeded: Served) -> None:
    page = seeded.get(f"/{seeded.slug}/search?q=tide")
    links = re.findall(rf'<li><a href="([^"]*[?&;]{facet}=[^"]*)"[^>]*>.*?<span class="count">(\d+)<', page)
    assert links
    for link, count in links:
        narrowed = seeded.get(unescape(link))
        shown = re.search(r'<h1>Search <span class="count">(\d+)<', narrowed)
        assert shown is not None
        assert shown[1] == count


@pytest.mark.parametrize(
    "query", ["", "%00", "%22%2A", "x" * 3000, "(((", "zzzqqq", "D-", "%F0%9F%92%A9", "yesterday"]
)
def test_any_query_is_a_page(query: str, seeded: Served) -> None:
    reply = seeded.ask("GET", f"/{seeded.slug}/search?q={query}&kind=nonsense&when=nonsense&page=x")
    assert reply.status == 200, reply
    assert "bug in holdfast" not in reply.text


@pytest.mark.slow
@pytest.mark.parametrize("start", ["", "memory", "cost", "repository"])
def test_the_search_box_is_one_key_away_from_every_screen(
    start: str, seeded_page: Any, seeded: Served
) -> None:
    seeded_page.goto(f"/{seeded.slug}/{start}")
    seeded_page.keyboard.press("Control+k")
    seeded_page.keyboard.type("retry the tide client")
    with seeded_page.expect_navigation():
        seeded_page.keyboard.press("Enter")
    seeded_page.keyboard.press("Escape")
    seeded_page.locator("h1").click()
    seeded_page.keyboard.press("j")
    with seeded_page.expect_navigation():
        seeded_page.keyboard.press("Enter")
    assert "tide" in seeded_page.locator("main").inner_text()


# --- cost ------------------------------------------------------------------------------------------------


def test_the_cost_is_the_sum_of_the_ledger_and_says_what_it_is_not(seeded: Served, machine: Machine) -> None:
    entries = rows(read_ledger(machine.project()))
    total = sum(entry.cost_usd for entry in entries if entry.cost_usd is not None)
    page = unescape(seeded.get(f"/{seeded.slug}/cost"))
    assert "API-equivalent, not your bill" in page
    assert f"${total:,.2f}" in page
    assert f"{len(entries)} sessions" in page


@pytest.mark.parametrize("split", ["model", "kind", "agent", "outcome"])
@pytest.mark.parametrize("by", ["day", "week", "month"])
def test_costs_by_period_and_part_have_a_chart_and_its_table(split: str, by: str, seeded: Served) -> None:
    page = seeded.get(f"/{seeded.slug}/cost?by={by}&split={split}")
    assert 'id="cost-over-time"' in page and 'id="cost-by-part"' in page
    assert page.count("Copy CSV") == page.count('<figure class="chart"')


def test_failure_rates_come_with_their_interval_and_n(seeded: Served) -> None:
    page = seeded.get(f"/{seeded.slug}/cost?split=agent")
    found = re.findall(r"(\d+)% \((\d+)–(\d+)%\), n (\d+)", page)
    assert found
    assert all(int(low) <= int(rate) <= int(high) and int(n) >= 2 for rate, low, high, n in found)


def test_cost_by_model_says_how_the_project_and_the_machine_count(seeded: Served) -> None:
    said = "A session counts for its main model"
    assert said in seeded.get(f"/{seeded.slug}/cost?split=model")
    assert said not in seeded.get(f"/{seeded.slug}/cost?split=kind")


@pytest.mark.parametrize("objective", ["balanced", "cost", "nonsense"])
def test_a_goal_gets_a_recommendation_or_why_there_is_none(objective: str, seeded: Served) -> None:
    page = seeded.get(f"/{seeded.slug}/cost?goal=fix+the+login&objective={objective}")
    assert 'class="verdict"' in page
    assert re.search(r"\d+ judged sessions", page)
    long = seeded.ask("GET", f"/{seeded.slug}/cost?goal={'x' * 2500}")
    assert long.status == 400 and "2,500 characters" in long.text


@pytest.mark.slow
def test_the_usage_of_the_machine_is_counted_while_the_page_waits(seeded_page: Any, seeded: Served) -> None:
    for by in ("day", "week", "month", "block", "model", "project", "agent"):
        seeded_page.goto(f"/{seeded.slug}/cost/machine?by={by}")
        seeded_page.wait_for_selector("#usage svg")
        text = seeded_page.locator("main").inner_text()
        assert "claude-opus-4-5" in text or by != "model"
        assert "Total" in text and "$" in text


# --- repository ------------------------------------------------------------------------------------------


def test_conventions_show_how_sure_they_are_and_what_speaks_against_them(seeded: Served) -> None:
    page = unescape(seeded.get(f"/{seeded.slug}/repository"))
    assert "ruff" in page and "pyproject.toml" in page
    assert re.search(r"\d+%", page)
    assert "none against it" in page


@pytest.mark.slow
def test_a_file_shows_the_session_behind_its_lines(seeded_page: Any, seeded: Served) -> None:
    seeded_page.goto(f"/{seeded.slug}/repository/files")
    seeded_page.keyboard.press("j")
    with seeded_page.expect_navigation():
        seeded_page.keyboard.press("Enter")
    seeded_page.goto(f"/{seeded.slug}/repository/file?path={FILE}")
    seeded_page.wait_for_selector(".blame")
    text = seeded_page.locator(".blame").inner_text()
    assert "Retry the tide client" in text and re.search(r"sure \d+%", text)
    assert all(line.strip() in text for line in CLIENT.splitlines())
    assert "15 of 15 lines from 1 recorded session" in seeded_page.locator("#lines").inner_text()
    assert "Decided" in seeded_page.locator("main").inner_text()


@pytest.mark.slow
def test_lines_that_no_session_is_known_for_say_so(seeded_page: Any, seeded: Served) -> None:
    seeded_page.goto(f"/{seeded.slug}/repository/file?path=pyproject.toml")
    seeded_page.wait_for_selector(".span.unknown >> text=Session unknown")
    assert "No recorded session wrote" in seeded_page.locator("#lines").inner_text()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "no file"),
        ("../../etc/passwd", "outside the repository"),
        ("/etc/passwd", "outside the repository"),
        (".git/config", "belongs to git"),
        ("src", "is a folder"),
        ("nothing.py", "no such file"),
        ("a%00b", "no file"),
    ],
)
def test_a_path_outside_of_the_repository_is_refused_in_one_line(
    path: str, says: str, seeded: Served
) -> None:
    for page in ("file", "lines"):
        reply = seeded.ask("GET", f"/{seeded.slug}/repository/{page}?path={path}")
        assert reply.status in (400, 404), reply
        assert says in reply.text.casefold()
        assert "root:" not in reply.text


def test_the_repository_is_looked_at_again(seeded: Served) -> None:
    reply = seeded.post(f"/{seeded.slug}/repository/scan", {})
    assert "Looked at" in reply.text, reply.text


# --- hostile text ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    seed(folder, HOSTILE)
    yield from served(folder)


SHOWN = (
    "/memory",
    "/memory/facts",
    "/memory/facts?kind=cause",
    "/memory/facts?kind=measurement",
    "/memory/rules",
    "/memory/questions",
    "/memory/next",
    "/memory/timeline?about=tide",
    "/memory/history",
    "/memory/history?change=1",
    "/memory?q=%3Cimg+src",
    "/search?q=alert",
    "/search?q=%3Cscript%3Ealert(1)%3C/script%3E&kind=%22%3E%3Cb%3E",
    "/cost?goal=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E",
    "/cost/machine?project=%3Cscript%3E",
    "/repository",
    "/repository/files?q=img",
    f"/repository/file?path={FILE}",
    "/repository/file?path=pyproject.toml",
)


@pytest.mark.slow
@pytest.mark.parametrize("path", SHOWN)
def test_text_of_agents_and_repositories_stays_text(path: str, chromium: Any, hostile: Served) -> None:
    for page in open_page(chromium, hostile):
        asked: list[str] = []
        page.on("dialog", lambda dialog, asked=asked: asked.append(dialog.message))
        page.goto(f"/{hostile.slug}{path}")
        if "/file?" in path:
            page.wait_for_selector(".blame")
        for fold in page.query_selector_all("main details:not([open]) > summary"):
            fold.click()
        for opener in ("Edit", "Change answer", "Answer", "Verify…", "Forget…"):
            button = page.locator("main .acts button", has_text=opener).first
            if button.count():
                button.dispatch_event("click")
                page.wait_for_selector("dialog[open], form.edit")
                page.reload()
        assert page.locator("main img[src=x], #dialog img[src=x]").count() == 0
        assert page.locator("main script, #dialog script").count() == 0
        text = page.locator("main").inner_text()
        assert not re.search(r"\b49\b", text) or "7*7" in text
        assert asked == []


# --- for everyone ----------------------------------------------------------------------------------------

FULL = ("/memory", "/memory/facts", "/memory/rules", "/memory/questions", "/memory/next", "/memory/timeline?about=tide",
        "/memory/history?change=1", "/search?q=tide", "/cost?goal=fix", "/repository", "/repository/files",
        f"/repository/file?path={FILE}")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", FULL)
def test_a_full_screen_has_no_barrier_that_axe_finds(
    path: str, theme: str, chromium: Any, seeded: Served, browser_folder: Path
) -> None:
    axe = (browser_folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    for page in open_page(chromium, seeded, color_scheme=theme):
        page.goto(f"/{seeded.slug}{path}")
        if "/file?" in path:
            page.wait_for_selector(".blame")
        if page.locator("[data-row]").count():
            page.keyboard.press("j")  # the buttons of a row show while it is selected
        page.evaluate(axe)
        looked = page.evaluate("async () => await axe.run()")
        found = [
            f"{one['id']}: {node['html']} {node['failureSummary']}"
            for one in looked["violations"]
            for node in one["nodes"][:2]
        ]
        assert found == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
