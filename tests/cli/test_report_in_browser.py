"""The HTML report in a real browser: on a wide and a narrow screen, by day and by night, and without a network."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_ledger_figures import rows_with_patterns, write_ledger
from tests.command import Holdfast
from tests.ledger.ledgers import sessions

ROOT = Path(__file__).parents[2]
LEAST_LETTERS = 11.0  # pixels
LEAST_CONTRAST = 4.5  # of letters against the page, as WCAG 2.1 asks; 3 of what is drawn
LEAST_DRAWN = 3.0


@pytest.fixture(scope="session")
def browser() -> str:
    """The folder of the pinned Chromium, from the cache or the npm registry."""
    if not (shutil.which("node") and shutil.which("npm") and shutil.which("bash")):
        pytest.skip("no browser: node, npm and bash are needed to install one")
    script = ROOT / "scripts" / "install_browser.sh"
    try:
        done = subprocess.run(
            ["bash", str(script)], capture_output=True, encoding="utf-8", timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("no browser: the npm registry does not answer")
    if done.returncode:
        pytest.skip(f"no browser: {' '.join(done.stderr.split())[-300:]}")
    return done.stdout.strip()


def looked_at(browser: str, page: Path, pictures: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("look_at_page.mjs")), browser, str(page), str(pictures)],
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    if done.returncode and "error while loading shared libraries" in done.stderr:
        pytest.skip(f"no browser: it does not start here: {' '.join(done.stderr.split())[:300]}")
    assert done.returncode == 0, done.stderr
    views: list[dict[str, Any]] = json.loads(done.stdout)
    return views


@pytest.fixture
def views(browser: str, holdfast: Holdfast, repo: Path, tmp_path: Path) -> list[dict[str, Any]]:
    rows = rows_with_patterns()
    long = {
        "framework": "a-framework-with-a-rather-long-name",
        "model": "vendor/family/model-of-many-words-9.5",
    }
    for month in range(1, 13):
        rows += sessions(3, timestamp=datetime(2025, month, 1, tzinfo=UTC), cost_usd=Decimal(month), **long)
    write_ledger(repo, rows)
    page = tmp_path / "report.html"
    page.write_text(holdfast("ledger", "report", "--format", "html", check=0).stdout, encoding="utf-8")
    return looked_at(browser, page, tmp_path)


@pytest.mark.slow
@pytest.mark.promise("L9")
def test_the_page_is_legible_on_every_screen_and_asks_the_network_for_nothing(
    views: list[dict[str, Any]],
) -> None:
    assert {(view["width"], view["scheme"]) for view in views} == {
        (width, scheme) for width in (1280, 390) for scheme in ("light", "dark")
    }
    for view in views:
        where = f"{view['width']} {view['scheme']}"
        assert view["said"] == [], where
        assert [url for url in view["asked"] if not url.startswith("file:")] == [], where
        assert view["page"] <= view["window"], f"{where}: the page must be moved sideways to be read"
        assert view["overlaps"] == [], where
        for text in view["seen"]:
            assert text["size"] >= LEAST_LETTERS, (where, text)
            assert text["contrast"] >= LEAST_CONTRAST, (where, text)
            assert text["x"] >= 0 and text["x"] + text["width"] <= view["window"] + 1, (where, text)


@pytest.mark.slow
@pytest.mark.promise("L9")
def test_the_plots_are_drawn_where_they_can_be_seen(views: list[dict[str, Any]]) -> None:
    for view in views:
        drawn = [shape for shape in view["shapes"] if shape["name"] != "grid"]
        assert view["plots"] >= 4
        assert {"rect", "line", "circle", "polyline"} <= {shape["kind"] for shape in drawn}
        bars = [shape for shape in drawn if shape["kind"] == "rect" and shape["width"] > 1]
        assert max(shape["width"] for shape in bars) >= 0.2 * min(view["width"], 896)
        for shape in drawn:
            assert shape["contrast"] >= LEAST_DRAWN, (view["scheme"], shape)
            assert shape["x"] >= 0 and shape["x"] + shape["width"] <= view["window"] + 1, shape
        (line,) = [shape for shape in drawn if shape["kind"] == "polyline"]
        dots = [shape for shape in drawn if shape["kind"] == "circle"]
        assert len(dots) >= 12
        # The dots stand on the line: neither is moved without the other when the window is narrow.
        assert min(dot["x"] + dot["width"] / 2 for dot in dots) == pytest.approx(line["x"], abs=2)
        assert max(dot["y"] + dot["height"] / 2 for dot in dots) == pytest.approx(
            line["y"] + line["height"], abs=2
        )
