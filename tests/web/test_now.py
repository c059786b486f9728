"""The screen Now: sessions with what they were told, the week, what waits for a person, and every answer with its undo."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ClaudeFile
from tests.web.conftest import make_demo, open_page, served
from tests.web.served import Served
from tests.web.traces import PROMPT, candidates, project_of, state_of, tell

from holdfast.memory.read import ProjectMemory
from holdfast.store.switches import disable

JWT = "c9f8ad7d-46c8-5aa8-a265-eb7dc445e220"


def holdfast(server: Served, *words: str) -> str:
    """The command line, in the project that the page shows."""
    command = [sys.executable, "-m", "holdfast", *words]
    done = subprocess.run(
        command, cwd=server.project, env=server.env, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout


def status_of_decision(server: Served, id: str) -> tuple[str, str]:
    memory = ProjectMemory(project_of(server.project.parent)[1])
    found = [(one.status, one.who) for one in memory.statements("decision") if one.id == id]
    return found[0] if found else ("gone", "")


@pytest.mark.slow
@pytest.mark.promise("U1")
def test_a_recent_session_has_the_lines_that_it_was_told_each_with_its_mark(
    page: Any, server: Served
) -> None:
    _, project = project_of(server.project.parent)
    lines = [
        ("tidepool/auth.py", "touched often"),
        ("tidepool/none.py", "touched often"),
        ("Keep it small", "fits"),
    ]
    tell(project.memory, JWT, 1_793_874_621.0, PROMPT, lines)
    page.goto(f"/{server.slug}/")
    row = page.locator(f"#session-{JWT}")
    row.get_by_text("1 used, 1 not used, 1 unknown").click()
    marks = [badge.inner_text() for badge in row.locator(".told .badge").all()]
    assert marks == ["used", "not used", "unknown"]
    assert page.get_by_text("no line from memory").count() == 3


@pytest.mark.slow
def test_a_running_session_is_shown_with_what_it_was_told_so_far(page: Any, server: Served) -> None:
    session = "5c0ffee5-2222-4222-8333-444455556666"
    folder = Path(server.env["HOME"]) / ".claude" / "projects" / "-tidepool"
    folder.mkdir(parents=True)
    file = ClaudeFile(cwd=str(server.project), session=session)
    file.user(0, "Add a retry to the export client")
    (folder / f"{session}.jsonl").write_bytes(file.data())
    _, project = project_of(server.project.parent)
    tell(project.memory, session, 1_793_610_721.0, PROMPT, [("tidepool/export.py", "touched often")])
    page.goto(f"/{server.slug}/")
    row = page.locator(f"#running-{session}")
    row.get_by_text("Add a retry to the export client").wait_for()
    row.get_by_text("1 unknown").wait_for()  # it is not read yet, so nothing is claimed


@pytest.mark.slow
@pytest.mark.promise("U1")
def test_ten_lessons_are_reviewed_by_keyboard_alone(page: Any, server: Served) -> None:
    folder = server.project.parent
    names = candidates(folder, 10)
    page.goto(f"/{server.slug}/")
    waiting = page.locator("[id^='rule-check-before-push']")
    assert waiting.count() == 5  # at most five at once
    page.keyboard.press("v")
    done: list[tuple[str, str]] = []
    for key in "prmpsrpmpr":
        selected = page.locator("[data-row][aria-current]")
        while not (selected.get_attribute("id") or "").startswith("rule-check-before-push"):
            page.keyboard.press("j")
        name = (selected.get_attribute("id") or "").removeprefix("rule-")
        done.append((key, name))
        page.keyboard.press(key)
        page.locator(f"[id='rule-{name}']").wait_for(state="detached")
    assert sorted(name for _, name in done) == sorted(names)
    states = {"p": "active", "r": "gone", "m": "muted", "s": "candidate"}
    assert [state_of(folder, name) for _, name in done] == [states[key] for key, _ in done]
    assert waiting.count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "after"), [("p", "active"), ("r", "gone"), ("m", "muted"), ("s", "candidate")]
)
def test_each_answer_about_a_rule_is_taken_back_by_undo(
    page: Any, server: Served, key: str, after: str
) -> None:
    folder = server.project.parent
    (name,) = candidates(folder, 1)
    page.goto(f"/{server.slug}/")
    row = page.locator(f"#rule-{name}")
    row.locator(".row-title").click()
    page.keyboard.press(key)
    row.wait_for(state="detached")
    assert state_of(folder, name) == after
    page.keyboard.press("u")
    row.wait_for()
    assert state_of(folder, name) == "candidate"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "after"), [("y", ("agreed", "user")), ("n", ("gone", "")), ("s", ("agreed", "agent"))]
)
def test_a_decision_of_an_agent_is_confirmed_or_retired_and_taken_back(
    page: Any, server: Served, key: str, after: tuple[str, str]
) -> None:
    holdfast(
        server,
        "decide",
        "Exports are retried three times",
        "--because",
        "the gateway drops one",
        "--by",
        "agent",
    )
    page.goto(f"/{server.slug}/")
    row = page.locator("#now-review [data-row]", has_text="Exports are retried three times")
    id = (row.get_attribute("id") or "").removeprefix("decision-")
    assert status_of_decision(server, id) == ("agreed", "agent")
    row.locator(".row-title").click()
    page.keyboard.press(key)
    row.wait_for(state="detached")
    assert status_of_decision(server, id) == after
    page.keyboard.press("u")
    row.wait_for()
    assert status_of_decision(server, id) == ("agreed", "agent")


@pytest.mark.slow
def test_a_handoff_is_written_cleared_and_taken_back(page: Any, server: Served) -> None:
    page.goto(f"/{server.slug}/")
    page.keyboard.press("h")
    page.locator("dialog[open] textarea").fill("Finish the export\nThen the report")
    page.get_by_role("button", name="Hand over", exact=True).click()
    steps = page.locator("#now-next")
    steps.get_by_text("Then the report").wait_for()
    assert "Finish the export" in holdfast(server, "resume")
    page.get_by_role("button", name="Clear the handoff").click()
    steps.get_by_text("Then the report").wait_for(state="detached")
    assert "Finish the export" not in holdfast(server, "resume")
    page.keyboard.press("u")
    steps.get_by_text("Then the report").wait_for()
    assert "Finish the export" in holdfast(server, "resume")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"do": "promote"},
        {"do": "delete", "id": "x"},
        {"do": "promote", "id": "../../x"},
        {"do": "confirm", "id": "D-zzzz"},
    ],
)
def test_an_answer_that_makes_no_sense_changes_nothing_and_says_why(
    server: Served, fields: dict[str, str]
) -> None:
    reply = server.post(f"/{server.slug}/now/answer", fields)
    assert "toast bad" in reply.text


def test_what_keeps_memory_silent_is_said_with_the_command_that_mends_it(server: Served) -> None:
    assert "/now/notices" in server.get(f"/{server.slug}/")
    assert "nothing from memory" not in server.get(f"/{server.slug}/now/notices")
    disable(project_of(server.project.parent)[1])
    assert "holdfast init" in server.get(f"/{server.slug}/now/notices")


def test_an_empty_project_says_what_fills_the_screen(tmp_path: Path) -> None:
    (tmp_path / "tidepool").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "tidepool", check=True)
    for serving in served(tmp_path):
        text = serving.get(f"/{serving.slug}/")
        assert "holdfast import" in text
        assert "holdfast handoff" in text
        assert "holdfast import" in serving.get(f"/{serving.slug}/sessions")


HOSTILE = """<img src=x onerror=alert(1)>"'><script>alert(2)</script>{{7*7}}\u202egnp"""


@pytest.mark.slow
def test_nothing_that_an_agent_or_a_repository_writes_runs_on_the_page(chromium: Any, tmp_path: Path) -> None:
    folder = make_demo(tmp_path)
    root = folder / "tidepool"
    for words in (["init", "-q"], ["checkout", "-q", "-b", "x<img/src=x/onerror=alert(1)>"]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    session = "0bad0000-1111-4222-8333-444455556666"
    file = ClaudeFile(cwd=str(root), session=session, branch="x<img/src=x/onerror=alert(1)>")
    file.add({"type": "custom-title", "customTitle": f"Title {HOSTILE}", "sessionId": session})
    file.user(0, f"Goal {HOSTILE}: add a retry to the export client")
    file.assistant(
        3,
        f"# {HOSTILE}\n- {HOSTILE}\n| {HOSTILE} |\n```\n{HOSTILE}\n```\n**{HOSTILE}** `{HOSTILE}`",
        model=HOSTILE,
    )
    name = f"{root}/a<img src=x onerror=alert(1)>.py"
    edit = file.call(
        5, "Edit", {"file_path": name, "old_string": HOSTILE, "new_string": f"{HOSTILE} new"}, model=HOSTILE
    )
    file.result(6, edit, HOSTILE)
    file.run(7, f"echo '{HOSTILE}'", HOSTILE)
    file.run(9, f"make '{HOSTILE}'", HOSTILE, exit_code=2)
    file.run(11, f"git commit -m '{HOSTILE}'", f"[main abc1234] {HOSTILE}\n 1 file changed")
    file.assistant(20, f"We decided to {HOSTILE} because of {HOSTILE}. Next: {HOSTILE}")
    transcript = folder / f"{session}.jsonl"
    transcript.write_bytes(file.data())
    for serving in served(folder):
        holdfast(serving, "import", "-q", str(transcript))
        holdfast(serving, "decide", f"Retries {HOSTILE}", "--because", HOSTILE, "--by", "agent")
        holdfast(serving, "handoff", f"Next {HOSTILE}")
        _, project = project_of(folder)
        tell(
            project.memory,
            session,
            1_793_610_721.0,
            PROMPT,
            [(HOSTILE, HOSTILE), ("a.py", HOSTILE)],
            tool=HOSTILE,
        )
        candidates(folder, 1, rule="Run `x` {n} " + HOSTILE.replace("{{7*7}}", ""))
        for page in open_page(chromium, serving):
            page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
            slug = serving.slug
            for path in (
                "/",
                "/sessions",
                f"/session/{session}",
                f"/session-markdown?id={session}",
                "/memory",
            ):
                page.goto(f"/{slug}{path}")
                page.wait_for_load_state("networkidle")
                for fold in page.query_selector_all("main details:not([open]) > summary"):
                    if fold.is_visible():
                        fold.click()
                assert page.locator("img:not([src^='/static/'])").count() == 0, path
                assert page.locator("script:not([src])").count() == 0, path
                assert "49" not in page.locator("h1").inner_text(), path
                assert "\u202e" not in page.content(), path
            page.goto(f"/{slug}/session/{session}")
            text = page.locator("main").inner_text()
            assert text.count("<img src=x onerror=alert(1)>") >= 6
            assert page.locator("h1").inner_text().startswith("Title <img src=x")
        saved = serving.get(f"/{serving.slug}/session-html?id={session}")
        assert not re.search(r"<img|<script", saved)
