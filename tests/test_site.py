"""The documentation site: built offline from docs/, complete, and without anything from another host."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
PAGES = [page for part in NAV for pages in part.values() for entry in pages for page in entry.values()]
# Pages that are not for users of the product, and those that other pages lead to.
ELSEWHERE: set[str] = set()
pytestmark = pytest.mark.skipif(find_spec("zensical") is None, reason="zensical is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", place / "docs")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("bench/out/site", "site")
    (place / "mkdocs.yml").write_text(config, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "-f", "mkdocs.yml"],
        cwd=place,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place / "site"


@pytest.mark.promise("U12")
def test_every_page_of_the_navigation_is_built(site: Path) -> None:
    missing = [page for page in PAGES if not (site / page.replace(".md", ".html")).is_file()]
    assert missing == []


def test_every_page_of_the_docs_is_in_the_navigation_or_said_to_be_elsewhere() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert pages - set(PAGES) - ELSEWHERE == set()


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loads = re.compile(
        r"""<(?:script|img|iframe)[^>]*\ssrc=["']?https?:|<link[^>]*rel=["']?stylesheet[^>]*https?:"""
    )
    found = [page.name for page in site.rglob("*.html") if loads.search(page.read_text(encoding="utf-8"))]
    assert found == []


def test_links_between_pages_lead_to_pages(site: Path) -> None:
    broken = []
    for name in PAGES:
        page = site / name.replace(".md", ".html")
        for link in re.findall(r'href="([^":#?]+\.html)', page.read_text(encoding="utf-8")):
            if not (page.parent / link).resolve().is_file():
                broken.append(f"{name}: {link}")
    assert broken == []


def test_the_picture_of_how_it_works_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "draw_how_it_works.py"), "--check"], check=False
    )
    assert done.returncode == 0
