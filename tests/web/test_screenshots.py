"""The pictures of the documentation are made by a script: of every screen, at the width that a picture's name says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.web.conftest import QUIET

pytestmark = pytest.mark.promise("U12")

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "screens"


def width_of(webp: bytes) -> int:
    """The width of the canvas, from the header that Chromium writes."""
    assert (webp[:4], webp[8:16]) == (b"RIFF", b"WEBPVP8X")
    return int.from_bytes(webp[24:27], "little") + 1


@pytest.mark.slow
def test_the_script_takes_a_picture_of_every_screen_of_the_demonstration(
    browser_folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("playwright.sync_api")
    command = [sys.executable, str(ROOT / "scripts" / "screenshots.py"), "--out", str(tmp_path), "--webp"]
    done = subprocess.run(
        [*command, "--widths", "700", "--themes", "dark"],
        env={**os.environ, **QUIET},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr  # it prints what the console says
    taken = {path.name: width_of(path.read_bytes()) for path in tmp_path.glob("*.webp")}
    assert taken and set(taken.values()) == {700}
    assert set(taken) == {path.name for path in PICTURES.glob("*-700-dark.webp")}


def test_each_screen_has_its_pictures_and_each_picture_the_width_of_its_name() -> None:
    named = {
        path: re.fullmatch(r"([a-z]+)-(\d+)-(light|dark)\.webp", path.name) for path in PICTURES.iterdir()
    }
    assert [path.name for path, match in named.items() if match is None] == []
    ways: dict[str, set[tuple[str, str]]] = {}
    for path, match in named.items():
        assert match is not None
        assert width_of(path.read_bytes()) == int(match[2]), path.name
        ways.setdefault(match[1], set()).add((match[2], match[3]))
    every = {(width, theme) for width in ("700", "1280", "1900") for theme in ("light", "dark")}
    assert {name: every - there for name, there in ways.items() if there != every} == {}
    assert {"now", "sessions", "session", "cost", "memory"} <= set(ways)


def test_the_pictures_that_the_pages_show_are_there() -> None:
    shown = {
        name
        for page in ((ROOT / "docs").glob("*.md"), [ROOT / "README.md"])
        for path in page
        for name in re.findall(r"!\[[^\]]*\]\((?:docs/)?screens/([^)]+)\)", path.read_text(encoding="utf-8"))
    }
    assert shown and shown <= {path.name for path in PICTURES.iterdir()}
