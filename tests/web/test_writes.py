"""Writes and errors as the frame handles them: a message with its undo, a page or a message for what failed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.web.served import Served

from holdfast.flows import questions
from holdfast.store.machine import Machine
from holdfast.web.changes import change
from holdfast.web.contract import Changed, Opened, Request, Undo
from holdfast.web.projects import open_projects

pytestmark = pytest.mark.slow


@pytest.fixture
def asked(server: Served, monkeypatch: pytest.MonkeyPatch) -> Request:
    """A request in this process, over the project that `server` shows."""
    from holdfast.web.access import Gate
    from holdfast.web.app import App
    from holdfast.web.changes import SCREEN

    machine = Machine(env=server.env, cwd=server.project)
    (opened,) = open_projects(machine, [], everywhere=False)
    app = App(machine, [opened], Gate(1))
    return Request(
        frame=app, machine=machine, screen=SCREEN, route=SCREEN.routes[0], opened=opened, htmx=True
    )


def decide(request: Request, text: str) -> Changed:
    return change(request, "Decided", lambda: questions.decide(request.machine, text))


def test_a_change_is_undone_on_the_page_and_brought_back(server: Served, asked: Request) -> None:
    done = decide(asked, "Exports are retried three times")
    assert done.undo is not None
    where = f"/{server.slug}/memory"
    assert "Exports are retried three times" in server.get(where)

    taken = server.post(f"/{server.slug}/undo", done.undo.fields)
    assert "Undone in reference.md" in taken.text.replace("projects/tidepool/", "")
    assert taken.headers["hx-trigger"] == "holdfast:changed"
    assert "Exports are retried three times" not in server.get(where)

    again = re.search(r"data-undo hx-post=\"[^\"]+\" hx-vals='\{\"change\": \"([^\"]+)\"\}'", taken.text)
    assert again is not None
    server.post(f"/{server.slug}/undo", {"change": again[1]})
    assert "Exports are retried three times" in server.get(where)


def test_an_undo_that_would_take_back_something_newer_is_refused(server: Served, asked: Request) -> None:
    first = decide(asked, "Exports are retried three times")
    decide(asked, "Imports are not retried")
    assert first.undo is not None
    refused = server.post(f"/{server.slug}/undo", first.undo.fields)
    assert "something else has changed since" in refused.text
    page = server.get(f"/{server.slug}/memory")
    assert "Exports are retried" in page
    assert "Imports are not retried" in page


def test_a_write_without_versions_names_its_own_undo_or_has_none(asked: Request) -> None:
    assert change(asked, "Nothing", lambda: None).undo is None
    own = Undo("/tidepool/on", {"what": "capture"})
    assert change(asked, "Switched off", lambda: None, undo=own).undo == own


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/tidepool/nothing", 404, "There is no such page"),
        ("/elsewhere/", 404, "This project is not open here"),
        ("/tidepool/session/none", 404, "none"),
    ],
)
def test_an_error_is_a_page_that_says_what_to_do(
    demo_server: Served, path: str, status: int, says: str
) -> None:
    reply = demo_server.ask("GET", path)
    assert reply.status == status
    assert says in reply.text
    assert '<nav class="tabs"' in reply.text


def test_a_damaged_file_is_an_error_in_words_and_no_trace(server: Served) -> None:
    (server.project.parent / "home" / "projects").chmod(0o700)
    (memory,) = (server.project.parent / "home" / "projects").glob("tidepool-*")
    (memory / "session.json").write_text("[", encoding="utf-8")
    reply = server.ask("GET", f"/{server.slug}/repository")
    assert reply.status in (200, 500)
    assert "Traceback" not in reply.text


def test_several_projects_have_a_switcher_and_an_overview(demo: Path) -> None:
    from tests.web.conftest import served

    for serving in served(demo, "--all"):
        assert serving.slug == "all"
        overview = serving.get("/all/memory")
        assert "tidepool" in overview
        assert "Memory shows one project: choose it." in overview
        assert 'class="menu switcher"' in serving.get("/tidepool/sessions")
        assert serving.ask("GET", "/all/nothing").status == 404


def test_one_project_is_not_shown_the_machine(demo_server: Served) -> None:
    assert demo_server.ask("GET", "/all/").status == 404
    assert 'class="menu switcher"' not in demo_server.get(f"/{demo_server.slug}/")


def test_projects_of_one_name_have_addresses_of_their_own() -> None:
    from holdfast.store.project import Project
    from holdfast.web.projects import _named

    folders = [Path(f"/{number}/all") for number in range(3)]
    named = _named(
        Project(folder, folder / ".holdfast", folder / "memory", folder / "id") for folder in folders
    )
    assert [opened.slug for opened in named] == ["all-2", "all-3", "all-4"]
    assert all(isinstance(opened, Opened) for opened in named)
