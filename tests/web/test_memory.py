"""The screen Memory: every view, every write and its undo, forms in the place of rows, forget and verify."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import open_page, served
from tests.web.seeded import seed
from tests.web.served import Served

from holdfast.flows import facts, lessons, questions, todos
from holdfast.lessons.store import LessonStore
from holdfast.memory.read import ProjectMemory
from holdfast.store.machine import Machine
from holdfast.web.memory_writes import ACTIONS

VIEWS = (
    "",
    "/facts",
    "/facts?kind=cause",
    "/rules",
    "/questions",
    "/next",
    "/timeline?about=tide",
    "/history",
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return seed(tmp_path_factory.mktemp("seeded"))


@pytest.fixture(scope="module")
def seeded(machine: Machine) -> Iterator[Served]:
    yield from served(machine.cwd.parent)


@pytest.fixture
def seeded_page(chromium: Any, seeded: Served) -> Iterator[Any]:
    yield from open_page(chromium, seeded)


def memory_text(machine: Machine) -> dict[str, str]:
    """Everything that a person can change, by file."""
    project = machine.project()
    folders = (project.memory / "projects", project.memory / "lessons", project.window / "lessons")
    files = [
        project.memory / "current.md",
        *(path for folder in folders for path in sorted(folder.rglob("*.*"))),
    ]
    left_out = ("record.json",)  # counts
    return {
        str(path): path.read_text(encoding="utf-8")
        for path in files
        if path.is_file() and path.name not in left_out
    }


def plain(page: str) -> str:
    """A page without its tags."""
    return unescape(re.sub(r"<[^>]*>", "", page))


def undo_in(toast: str) -> dict[str, str]:
    found = re.search(r"data-undo hx-post=\"([^\"]*)\" hx-vals='([^']*)'", toast)
    assert found is not None, f"no undo in {toast}"
    values: dict[str, str] = json.loads(unescape(found[2]))
    return values


def test_every_view_shows_what_the_commands_list(seeded: Served, machine: Machine) -> None:
    pages = {view: plain(seeded.get(f"/{seeded.slug}/memory{view}")) for view in VIEWS}
    memory = ProjectMemory(machine.project())
    pages[""] += plain(seeded.get(f"/{seeded.slug}/memory?likely=no"))  # what was said in passing
    for said in memory.statements("decision"):
        assert said.text in pages[""] and said.id in pages[""]
        assert not said.reason or f"Because {said.reason}" in pages[""]
    for kept in facts.read_facts(machine).reference.facts:
        assert kept.fact.text in pages["/facts"] and kept.fact.evidence in pages["/facts"]
    for status in lessons.read_lessons(machine, machine.project()).lessons:
        assert all(rule.replace("`", "") in pages["/rules"] for rule in status.lesson.rules)
    for question in questions.read_questions(machine).questions:
        assert question.text in pages["/questions"] and question.answer in pages["/questions"]
    for step in todos.list_todos(machine, everything=True)[0]:
        assert step.closed or step.item.text in pages["/next"]
    assert "never closed" in pages["/facts?kind=cause"]


def test_a_decision_stands_with_what_was_turned_down_for_it(seeded: Served) -> None:
    page = plain(seeded.get(f"/{seeded.slug}/memory?q=attempts"))
    assert "Turned down: Retry the tide client without end" in page
    assert "said by a person" in page


def test_a_timeline_has_statements_sessions_and_commits_of_a_word(seeded: Served) -> None:
    page = seeded.get(f"/{seeded.slug}/memory/timeline?about=tide+client")
    kinds = set(re.findall(r'class="event-kind">([^<]*)<', page))
    assert {"decision", "commit"} <= kinds
    of_file = seeded.get(f"/{seeded.slug}/memory/timeline?about=src/tidepool/client.py")
    assert "Retry the tide client five times" in of_file


@pytest.mark.parametrize(
    ("filters", "has", "has_not"),
    [
        ("?q=keyring", "keyring", "JSON lines"),
        ("?status=proposed", "keyring", "JSON lines"),
        ("?status=rejected", "without end", "keyring"),
        ("?who=agent", "JSON lines", "Use uv"),
        ("/facts?category=testing", "Python 3.12", "8085"),
        ("/questions?state=open", "Which region", "Who owns"),
    ],
)
def test_filters_leave_what_fits(seeded: Served, filters: str, has: str, has_not: str) -> None:
    shown = seeded.get(f"/{seeded.slug}/memory{filters}").partition("<main")[2]
    assert has in shown
    assert has_not not in shown


# --- writes ----------------------------------------------------------------------------------------------


def _ids(machine: Machine) -> dict[str, str]:
    decisions = {said.text: said for said in ProjectMemory(machine.project()).statements("decision")}
    known = {kept.fact.text: kept.fact.id for kept in facts.read_facts(machine).reference.facts}
    asked = {question.text: question.id for question in questions.read_questions(machine).questions}
    steps = {step.item.text: step.item.id for step in todos.list_todos(machine, everything=True)[0]}
    return {
        "decision": decisions["Use uv, not pip, for every environment"].id,
        "passage": decisions["Store tokens in the keyring rather than in a file."].id,
        "fact": known["The service listens on port 8085"],
        "question": asked["Which region do we deploy to?"],
        "step": steps["Rotate the webhook key"],
        "rule": "testing",
        "candidate": "python-missing",
    }


# For each action what it is given, by name of `_ids` where it begins with @, and what stands in memory afterwards.
WRITES: dict[str, tuple[dict[str, str], str]] = {
    "decide": ({"text": "Serve tides as GeoJSON", "because": "maps read it"}, "Serve tides as GeoJSON"),
    "decision-change": ({"id": "@decision", "text": "Use uv for all", "because": "fast"}, "Use uv for all"),
    "decision-confirm": ({"id": "@passage"}, "keyring"),
    "decision-retire": ({"id": "@decision"}, ""),
    "fact-add": ({"text": "Redis runs on 6379", "evidence": "PONG", "command": ""}, "Redis runs on 6379"),
    "fact-change": (
        {"id": "@fact", "text": "It listens on 9090", "evidence": "on :9090"},
        "It listens on 9090",
    ),
    "fact-retire": ({"id": "@fact", "because": "moved"}, "moved"),
    "ask": ({"text": "Who renews the domain?"}, "Who renews the domain?"),
    "answer": ({"id": "@question", "answer": "eu-west-1"}, "eu-west-1"),
    "question-close": ({"id": "@question"}, "- [x] Which region"),
    "step-add": ({"text": "Write the release notes", "priority": "low"}, "Write the release notes"),
    "step-change": ({"id": "@step", "text": "Rotate both keys", "because": "leaked"}, "Rotate both keys"),
    "step-done": ({"id": "@step"}, ""),
    "step-drop": ({"id": "@step"}, ""),
    "rule-add": ({"name": "docs", "rules": "write docs in English"}, "write docs in English"),
    "rule-change": ({"name": "@rule", "rules": "run make test", "description": "tests"}, "run make test"),
    "rule-promote": ({"name": "@candidate"}, ""),
    "rule-mute": ({"name": "@rule", "days": "7"}, "testing"),
    "rule-reject": ({"name": "@rule"}, ""),
    "rule-share": ({"name": "@rule"}, ""),
}
SEQUENCES = {"rule-unmute": "rule-mute", "rule-unshare": "rule-share"}  # what has to be done before
ELSEWHERE = {"restore"}  # has a test of its own


def test_every_write_is_tried() -> None:
    assert {*WRITES, *SEQUENCES, *ELSEWHERE} == {*ACTIONS}


def _write(seeded: Served, machine: Machine, action: str, fields: dict[str, str]) -> str:
    ids = _ids(machine)
    given = {name: ids[value[1:]] if value.startswith("@") else value for name, value in fields.items()}
    reply = seeded.post(f"/{seeded.slug}/memory/do/{action}", given)
    assert reply.status == 200, reply
    assert reply.headers.get("hx-trigger") == "holdfast:changed", reply.text
    return reply.text


def _take_back(seeded: Served, toast: str) -> None:
    reply = seeded.post(f"/{seeded.slug}/undo", undo_in(toast))
    assert "Undone" in reply.text, reply.text


@pytest.mark.promise("U1")
@pytest.mark.parametrize("action", WRITES)
def test_a_write_goes_to_memory_and_its_undo_takes_it_back(
    action: str, seeded: Served, machine: Machine
) -> None:
    before = memory_text(machine)
    fields, stands = WRITES[action]
    toast = _write(seeded, machine, action, fields)
    after = memory_text(machine)
    assert after != before
    assert any(stands in text and text != before.get(path) for path, text in after.items()) or not stands
    _take_back(seeded, toast)
    assert memory_text(machine) == before


@pytest.mark.parametrize("action", SEQUENCES)
def test_what_was_muted_or_shared_is_taken_out_again(action: str, seeded: Served, machine: Machine) -> None:
    before = memory_text(machine)
    first = SEQUENCES[action]
    _write(seeded, machine, first, WRITES[first][0])
    done = memory_text(machine)
    assert done != before
    toast = _write(seeded, machine, action, {"name": "@rule"})
    assert memory_text(machine) != done
    _take_back(seeded, toast)
    assert memory_text(machine) == done
    _write(seeded, machine, action, {"name": "@rule"})
    shelf = LessonStore(machine.project()).read()
    assert not shelf.choices.muted and not shelf.shared.lessons


def test_an_older_version_of_a_file_comes_back(seeded: Served, machine: Machine) -> None:
    before = memory_text(machine)
    _write(seeded, machine, "decide", {"text": "Name branches after issues", "because": ""})
    page = seeded.get(f"/{seeded.slug}/memory/history")
    number, file = re.findall(r"change=(\d+)&amp;file=([^&]*reference\.md)", page)[1]
    opened = seeded.get(f"/{seeded.slug}/memory/history?change={number}&file={file}")
    assert "Bring back what" in opened
    toast = _write(seeded, machine, "restore", {"n": number, "file": file.replace("%2F", "/")})
    assert "Name branches after issues" not in str(memory_text(machine))
    _take_back(seeded, toast)
    assert "Name branches after issues" in str(memory_text(machine))
    _write(seeded, machine, "restore", {"n": number, "file": file.replace("%2F", "/")})
    assert memory_text(machine) == before


@pytest.mark.parametrize(
    ("action", "fields", "says"),
    [
        ("decide", {"text": " "}, "the decision is missing"),
        ("decide", {"text": "x" * 5000}, "5,000 characters"),
        ("decision-change", {"id": "D-zzzzzz", "text": "no"}, "no decision"),
        ("fact-add", {"text": "It holds", "evidence": ""}, "the evidence is missing"),
        ("fact-add", {"text": "It holds", "evidence": "yes", "category": "nonsense"}, "no category"),
        ("fact-retire", {"id": ""}, "the id of the fact is empty"),
        ("answer", {"id": "Q-zzzzzz", "answer": "42"}, "no question"),
        ("step-add", {"text": "Do it", "priority": "urgent"}, "no priority"),
        ("rule-mute", {"name": "testing", "days": "-1"}, "not a number of days"),
        ("rule-add", {"name": "../../evil", "rules": "run it"}, "../../evil"),
        ("rule-add", {"name": "empty", "rules": " \n "}, "needs a rule"),
        ("rule-promote", {"name": "nobody"}, "no lesson"),
        ("restore", {"n": "first"}, "not a change"),
        ("nonsense", {}, "no such action"),
    ],
)
def test_bad_input_changes_nothing_and_gets_one_message(
    action: str, fields: dict[str, str], says: str, seeded: Served, machine: Machine
) -> None:
    before = memory_text(machine)
    reply = seeded.post(f"/{seeded.slug}/memory/do/{action}", fields)
    assert says in unescape(reply.text)
    assert reply.text.count("data-toast") == 1
    assert "bug in holdfast" not in reply.text
    assert memory_text(machine) == before


@pytest.mark.parametrize(
    "path",
    [
        "/memory?page=99999999999",
        "/memory?page=-1&status=nonsense&who=%00",
        "/memory/facts?kind=nonsense&category=%3Cb%3E",
        "/memory/timeline?about=%00%0a--output%3D/tmp/x",
        "/memory/timeline?about=../../../etc/passwd",
        "/memory/history?change=99999999&page=0",
        "/memory/history?change=3",  # a learned lesson, whose content is not kept
        "/memory/history?change=1&file=../../../etc/passwd",
        "/memory/statement/D-nothing",
        "/memory/edit/decision/D-nothing",
        "/memory/edit/nonsense/x",
        "/memory/new/nonsense",
        "/memory/verify/F-nothing",
        "/memory/forget?id=D-nothing",
        "/memory/forget?text=ab",
    ],
)
def test_a_wrong_address_is_a_page_or_one_message(path: str, seeded: Served) -> None:
    reply = seeded.ask("GET", f"/{seeded.slug}{path}")
    assert reply.status in (200, 400, 404), reply
    assert "bug in holdfast" not in reply.text


# --- in the browser --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_decision_is_edited_in_its_place_by_keys_and_taken_back(seeded_page: Any, seeded: Served) -> None:
    seeded_page.goto(f"/{seeded.slug}/memory?q=JSON")
    row = seeded_page.locator("[data-row]").first
    seeded_page.keyboard.press("j")
    seeded_page.keyboard.press("e")
    seeded_page.wait_for_selector("form.edit textarea")
    seeded_page.keyboard.press("Escape")
    seeded_page.wait_for_selector("form.edit", state="detached")
    assert row.locator(".row-title").inner_text() == "Log as JSON lines"
    seeded_page.keyboard.press("e")
    field = seeded_page.wait_for_selector("form.edit textarea")
    assert seeded_page.evaluate("document.activeElement.name") == "text"
    field.fill("Log as JSON lines, one for each request")
    seeded_page.keyboard.press("Control+Enter")
    seeded_page.wait_for_selector("text=one for each request >> visible=true")
    seeded_page.wait_for_selector("form.edit", state="detached")
    seeded_page.keyboard.press("u")
    seeded_page.wait_for_selector("[data-toast] >> text=Undone")
    seeded_page.locator("main", has_text="one for each request").wait_for(state="detached")


@pytest.mark.slow
def test_a_new_fact_is_added_by_its_form(seeded_page: Any, seeded: Served) -> None:
    seeded_page.goto(f"/{seeded.slug}/memory/facts")
    seeded_page.keyboard.press("a")
    seeded_page.wait_for_selector("dialog[open]")
    seeded_page.fill("dialog[open] textarea[name=text]", "The gauge answers within a second")
    seeded_page.click("dialog[open] button.primary")  # without evidence: refused, and the form stays
    seeded_page.wait_for_selector(".toast.bad")
    assert "evidence" in seeded_page.locator(".toast.bad").inner_text()
    assert seeded_page.input_value("dialog[open] textarea[name=text]") == "The gauge answers within a second"
    seeded_page.fill("dialog[open] textarea[name=evidence]", "0.8 s")
    seeded_page.click("dialog[open] button.primary")
    seeded_page.wait_for_selector("dialog[open]", state="detached")
    seeded_page.wait_for_selector("main >> text=The gauge answers within a second")
    seeded_page.click("[data-undo]")
    seeded_page.locator("main", has_text="The gauge answers").wait_for(state="detached")


@pytest.mark.slow
def test_verify_shows_the_command_before_it_runs_it(
    seeded_page: Any, seeded: Served, machine: Machine
) -> None:
    seeded_page.goto(f"/{seeded.slug}/memory/facts?q=8085")
    seeded_page.keyboard.press("j")
    seeded_page.keyboard.press("v")
    seeded_page.wait_for_selector("dialog[open] >> text=echo listening on :8085")
    seeded_page.click("dialog[open] button.primary")
    seeded_page.wait_for_selector("[data-toast] >> text=Still true")
    seeded_page.wait_for_selector("dialog[open]", state="detached")
    reply = seeded.post(
        f"/{seeded.slug}/memory/verified", {"id": _ids(machine)["fact"], "command": "another"}
    )
    assert "the command has changed" in reply.text


@pytest.mark.slow
def test_forget_says_what_goes_and_then_it_is_gone(
    seeded_page: Any, seeded: Served, machine: Machine
) -> None:
    questions.decide(machine, "Call the beta Project Zanzibar", "marketing", "user")
    seeded_page.goto(f"/{seeded.slug}/memory?q=Zanzibar")
    seeded_page.locator("[data-row]").first.hover()
    seeded_page.click("text=Forget…")
    seeded_page.wait_for_selector("dialog[open]")
    said = seeded_page.locator("dialog[open]").inner_text()
    assert "reference.md" in said and "cannot be undone" in said
    seeded_page.click("dialog[open] button.danger")
    seeded_page.wait_for_selector("[data-toast] >> text=Forgotten")
    assert seeded_page.locator("[data-undo]").count() == 0
    held = [
        path
        for path in machine.project().memory.rglob("*")
        if path.is_file() and b"Zanzibar" in path.read_bytes()
    ]
    assert held == []


@pytest.mark.slow
def test_a_rule_is_reviewed_by_keys(seeded_page: Any, seeded: Served, machine: Machine) -> None:
    seeded_page.goto(f"/{seeded.slug}/memory/rules?q=python")
    seeded_page.keyboard.press("j")
    seeded_page.keyboard.press("m")
    seeded_page.wait_for_selector("main >> text=muted")
    seeded_page.keyboard.press("u")
    seeded_page.wait_for_selector("[data-toast] >> text=Undone")
    assert not LessonStore(machine.project()).read().choices.muted


def test_a_machine_stands_where_the_project_is(machine: Machine, tmp_path: Path) -> None:
    other = machine.standing_in(tmp_path)
    assert (other.cwd, machine.cwd != tmp_path, other.home) == (tmp_path, True, machine.home)
