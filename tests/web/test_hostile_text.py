"""What agents and repositories write is text on every screen: it runs nothing, draws nothing and hides nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ClaudeFile
from tests.web.conftest import QUIET, open_page
from tests.web.served import Served

from holdfast.web.screens import loaded

pytestmark = [pytest.mark.slow, pytest.mark.promise("U1")]

ATTACK = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
BREAKS = "\"'><svg onload=\"document.title='owned'\">{{7*7}}${7*7}</textarea></title>--><![CDATA["
HIDDEN = "plain\u202etxt.exe\u2066 \u200b\x1b[31mred\x1b]8;;http://evil.example\x07link"
LINK = "[click](javascript:document.title='owned') http://evil.example/ data:text/html,x"
EVIL = f"{ATTACK} {BREAKS} {HIDDEN} {LINK}"


def hostile(folder: Path, holdfast: Any, repo: Path) -> None:
    """A session whose every field is hostile, read by holdfast, and everything that a person can add."""
    file = ClaudeFile(
        cwd=str(repo),
        session="bad00bad-1111-4222-8333-444455556666",
        branch="<img/src=x>",
        version="<b>1</b>",
    )
    file.user(0, f"Add retries {EVIL}")
    call = file.call(5, "Bash", {"command": f"make test # {EVIL}", "description": EVIL})
    file.result(9, call, f"FAILED {EVIL}", is_error=True)
    call = file.call(
        12,
        "Edit",
        {"file_path": f"{repo}/<img src=x onerror=alert(1)>.py", "old_string": EVIL, "new_string": EVIL},
    )
    file.result(14, call, "done")
    file.assistant(20, f"We decided to use retries because {EVIL}", model="<script>alert(1)</script>")
    file.save(folder / ".claude" / "projects" / "-shop" / "bad00bad-1111-4222-8333-444455556666.jsonl")
    holdfast("import", check=0)
    holdfast("decide", f"Retries are capped {ATTACK} {LINK}", "--because", BREAKS)
    holdfast("todo", "add", f"look {ATTACK} {BREAKS}")
    holdfast("ask", f"what about {ATTACK}?", "--keep")
    holdfast("handoff", f"next {ATTACK} {BREAKS}")


def test_hostile_text_is_shown_as_text_on_every_screen(
    chromium: Any, home: Path, repo: Path, holdfast: Any, scanner_off: None
) -> None:
    hostile(home, holdfast, repo)
    serving = Served(repo, {"HOME": str(home), **QUIET})
    serving.sign_in()
    paths = [
        f"/{serving.slug}/search?q=retries",
        serving.first_session(),
        f"/{serving.slug}/search?q=" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    ]
    for screen in loaded():
        for route in screen.routes:
            if route.method == "GET" and "{" not in route.path:
                paths.append(f"/{serving.slug}{route.path}")
    shown = ""
    for page in open_page(chromium, serving):
        for path in paths:
            reply = serving.ask("GET", path)
            if reply.status != 200 or not reply.text.startswith("<!doctype"):
                continue
            for character in ("\u202e", "\u2066", "\u200b", "\x1b", "\x07"):
                assert character not in reply.text, (path, character)
            page.goto(path)
            assert "owned" not in page.title(), path
            elements = page.evaluate(
                "[...document.querySelectorAll('main img, main script, main iframe, main [onload], main [onerror],"
                " main a[href^=javascript], main a[href^=data], main svg[onload]')].map(e => e.outerHTML)"
            )
            assert elements == [], path
            shown += page.inner_text("main")
    assert "<script>" in shown  # it did arrive, as letters
    assert "\\u202e" in shown or "\\x1b" in shown
    serving.stop()


def test_data_in_attributes_stays_in_them(home: Path, repo: Path, holdfast: Any) -> None:
    """Copied text, csv and the values of buttons are attributes: quotes end none of them."""
    holdfast("decide", BREAKS, check=0)
    serving = Served(repo, {"HOME": str(home), **QUIET})
    serving.sign_in()
    page = serving.get(f"/{serving.slug}/memory")
    assert "<svg onload" not in page
    assert json.dumps(BREAKS) not in page
    serving.stop()
