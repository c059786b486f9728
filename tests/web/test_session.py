"""The screen of a session: its timeline, what memory showed it and what it used, what can be taken along, forgetting."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import ClaudeFile
from tests.web.conftest import make_demo, open_page, served
from tests.web.served import Served
from tests.web.traces import CALL, PROMPT, START, project_of, tell

GATEWAY = "a09a15e0-8af4-513e-a3fb-62781dc010a7"
NAMED = "tidepool/never/opened.py"


def told_demo(folder: Path) -> Path:
    """A demonstration whose session on the gateway was told lines of each kind."""
    demo = make_demo(folder)
    _, project = project_of(demo)
    at = 1_793_610_720.0  # 2 November 2026, 09:12, when it began
    decision = "retries: at most five attempts with jitter (you, 06-24, D-k3f9ab)"
    tell(project.memory, GATEWAY, at, START, [("Next: finish the export", "next step on this branch")])
    lines = [
        ("Likely files:", ""),
        ("tidepool/limits.py", "touched often"),
        (NAMED, "touched often"),
        (decision, "fits"),
    ]
    tell(project.memory, GATEWAY, at + 1, PROMPT, lines, left_out=2)
    tell(
        project.memory,
        GATEWAY,
        at + 20,
        CALL,
        [("`python` is not found here → `uv run` worked", "failed twice")],
        tool="Bash",
    )
    return demo


@pytest.fixture(scope="module")
def told_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from served(told_demo(tmp_path_factory.mktemp("told")))


@pytest.fixture
def told_page(chromium: Any, told_server: Served) -> Iterator[Any]:
    yield from open_page(chromium, told_server)


@pytest.mark.slow
@pytest.mark.promise("U1")
def test_every_line_that_memory_told_it_is_there_with_its_reason_and_whether_it_was_used(
    told_page: Any, told_server: Served
) -> None:
    told_page.goto(f"/{told_server.slug}/session/{GATEWAY}")
    memory = told_page.locator("#memory")
    uses = {
        row.locator(".told-line").inner_text(): row.locator(".badge").inner_text()
        for row in memory.locator(".told li:not(.told-head)").all()
    }
    assert uses == {
        "Next: finish the export": "unknown",
        "tidepool/limits.py": "used",
        NAMED: "not used",
        "retries: at most five attempts with jitter (you, 06-24, D-k3f9ab)": "unknown",
        "`python` is not found here → `uv run` worked": "used",
    }
    text = memory.inner_text()
    assert "because touched often · it was not opened afterwards" in text
    assert "2 more did not fit" in text
    assert "5 lines" in text
    assert "2 used, 1 not used, 2 unknown" in text


@pytest.mark.slow
def test_the_timeline_shows_prompts_answers_calls_with_results_diffs_and_failures(
    told_page: Any, told_server: Served
) -> None:
    told_page.goto(f"/{told_server.slug}/session/{GATEWAY}")
    turn = told_page.locator("#prompt-1")
    assert "Add rate limiting to the API gateway" in turn.locator(".asked").inner_text()
    assert "All 12 gateway tests pass" in turn.locator(".answer").last.inner_text()
    failed = turn.locator(".call", has=told_page.locator(".call-mark.bad"))
    assert failed.count() == 2
    failed.first.locator("summary").click()
    assert failed.first.locator(".code").inner_text().strip()
    edit = turn.locator("details.call", has_text="edited").first
    edit.locator("summary").click()
    assert edit.locator(".diff .added").count() > 0
    side = told_page.locator("aside[aria-label='About this session']").inner_text()
    for said in (
        "feat(gateway): rate limit per client",
        "tidepool/limits.py",
        "uv run pytest tests/test_gateway.py",
    ):
        assert said in side


@pytest.mark.slow
def test_the_timeline_can_be_read_without_calls_or_for_failures_only(
    told_page: Any, told_server: Served
) -> None:
    told_page.goto(f"/{told_server.slug}/session/{GATEWAY}")
    with told_page.expect_navigation():
        told_page.get_by_role("link", name="Words only").click()
    assert told_page.locator(".call").count() == 0
    assert told_page.locator(".answer").count() > 0
    with told_page.expect_navigation():
        told_page.get_by_role("link", name="Failures only").click()
    assert told_page.locator(".call").count() == told_page.locator(".call-mark.bad").count() == 2
    assert told_page.locator(".answer").count() == 0


@pytest.mark.slow
def test_the_command_that_resumes_it_is_copied(chromium: Any, told_server: Served) -> None:
    for page in open_page(chromium, told_server, permissions=["clipboard-read", "clipboard-write"]):
        page.goto(f"/{told_server.slug}/session/{GATEWAY}")
        page.locator(".resume button").click()
        page.get_by_text("Copied").wait_for()
        page.locator("#search-box").focus()
        page.keyboard.press("Control+v")
        assert page.input_value("#search-box") == f"cd /home/dev/tidepool && claude --resume {GATEWAY}"


@pytest.mark.slow
def test_it_is_saved_as_one_html_file_and_read_as_markdown(
    told_page: Any, told_server: Served, tmp_path: Path
) -> None:
    told_page.goto(f"/{told_server.slug}/session/{GATEWAY}")
    with told_page.expect_download() as waiting:
        told_page.get_by_role("link", name="Download HTML").click()
    saved = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(saved)
    text = saved.read_text(encoding="utf-8")
    assert saved.name == "session-a09a15e0.html"
    assert text.startswith("<!doctype html>")
    assert "Add rate limiting to the API gateway" in text
    assert "<script" not in text
    assert "http" not in re.sub(r"http-equiv", "", text)  # one file, nothing to fetch
    shown = [sys.executable, "-m", "holdfast", "show", GATEWAY, "--html"]
    by_command = subprocess.run(
        shown, cwd=told_server.project, env=told_server.env, check=True, capture_output=True, encoding="utf-8"
    ).stdout
    assert text.strip() == by_command.strip()
    with told_page.expect_navigation():
        told_page.get_by_role("link", name="Markdown").click()
    assert "# gateway: rate limit per client" in told_page.locator("pre.code").inner_text()


def test_a_secret_in_a_transcript_is_in_nothing_that_the_page_shows_or_saves(server: Served) -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    session = "5ec2e700-1111-4222-8333-444455556666"
    file = ClaudeFile(cwd=str(server.project), session=session)
    file.user(0, f"Deploy with {secret}")
    file.run(5, f"curl -H 'Authorization: token {secret}' api.example.com", f"ok {secret}")
    file.assistant(9, f"I used {secret}.")
    bring(server, file, session)
    slug = server.slug
    for path in (
        f"/{slug}/session/{session}",
        f"/{slug}/session-html?id={session}",
        f"/{slug}/session-markdown?id={session}",
        f"/{slug}/session-markdown?id={session}&save=1",
    ):
        assert secret not in server.get(path), path


def bring(server: Served, file: ClaudeFile, session: str) -> None:
    path = Path(server.env["HOME"]) / f"{session}.jsonl"
    path.write_bytes(file.data())
    words = [sys.executable, "-m", "holdfast", "import", "-q", str(path)]
    subprocess.run(words, cwd=server.project, env=server.env, check=True, capture_output=True)


@pytest.mark.slow
def test_forgetting_shows_what_goes_and_then_it_is_gone_everywhere(page: Any, server: Served) -> None:
    slug = server.slug
    page.goto(f"/{slug}/session/{GATEWAY}")
    page.get_by_role("button", name="Forget …").click()
    dialog = page.locator("dialog[open]")
    text = dialog.inner_text()
    assert "cannot be undone" in text
    assert "ledger.md" in text
    assert "capture.db" in text
    page.get_by_role("button", name="Cancel").click()
    assert GATEWAY in server.get(f"/{slug}/sessions")  # asking changed nothing
    page.get_by_role("button", name="Forget …").click()
    with page.expect_navigation():
        page.get_by_role("button", name="Forget it for good").click()
    page.get_by_text("is forgotten").wait_for()
    assert page.locator("[data-undo]").count() == 0
    assert page.locator("[data-row]").count() == 9
    assert server.ask("GET", f"/{slug}/session/{GATEWAY}").status == 404
    listed = [sys.executable, "-m", "holdfast", "ledger", "--json"]
    rows = subprocess.run(
        listed, cwd=server.project, env=server.env, check=True, capture_output=True, encoding="utf-8"
    )
    assert GATEWAY not in rows.stdout


def test_a_session_whose_transcript_is_gone_says_so_and_shows_what_memory_kept(server: Served) -> None:
    session = "90e0e700-1111-4222-8333-444455556666"
    file = ClaudeFile(cwd=str(server.project), session=session)
    file.user(0, "Add a retry to the export client")
    file.assistant(9, "The export client retries now.")
    bring(server, file, session)
    _, project = project_of(server.project.parent)
    tell(project.memory, session, 1_793_610_720.0, PROMPT, [("tidepool/export.py", "touched often")])
    (Path(server.env["HOME"]) / f"{session}.jsonl").unlink()
    text = server.get(f"/{server.slug}/session/{session}")
    assert "The transcript is gone" in text
    assert "Add a retry to the export client" in text
    assert "the transcript is gone" in text


def test_a_long_session_has_pages_and_an_address_leads_to_any_prompt(server: Served) -> None:
    session = "10a60000-1111-4222-8333-444455556666"
    file = ClaudeFile(cwd=str(server.project), session=session)
    for number in range(30):
        file.user(number * 100, f"Prompt with the number {number + 1}")
        for step in range(20):
            file.run(number * 100 + step * 2, f"echo {step}", "done")
        file.assistant(number * 100 + 60, "Done.")
    bring(server, file, session)
    address = f"/{server.slug}/session/{session}"
    first, later = server.get(address), server.get(f"{address}?at=25")
    assert 'id="prompt-1"' in first
    assert 'id="prompt-25"' not in first
    assert 'id="prompt-25"' in later
    assert re.search(r"Prompts \d+–\d+ of 30", later)
    assert "Cost by prompt" in first


@pytest.mark.parametrize("wanted", ["last", "a09a15e0", GATEWAY])
def test_an_address_may_have_what_the_command_takes(demo_server: Served, wanted: str) -> None:
    assert '<article class="turn"' in demo_server.get(f"/{demo_server.slug}/session/{wanted}")


@pytest.mark.parametrize("wanted", ["nothing", "zz", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "0"])
def test_an_address_that_fits_no_session_says_what_there_is(demo_server: Served, wanted: str) -> None:
    assert demo_server.ask("GET", f"/{demo_server.slug}/session/{wanted}").status in (400, 404)


def test_the_page_of_a_session_is_kept_until_its_transcript_grows(server: Served) -> None:
    session = "92070000-1111-4222-8333-444455556666"
    file = ClaudeFile(cwd=str(server.project), session=session)
    file.user(0, "Add a retry")
    file.assistant(9, "It retries now.")
    bring(server, file, session)
    address = f"/{server.slug}/session/{session}"
    assert "It retries now." in server.get(address)
    file.user(100, "And a limit")
    file.assistant(109, "Five attempts at most.")
    (Path(server.env["HOME"]) / f"{session}.jsonl").write_bytes(file.data())
    assert "Five attempts at most." in server.get(address)
