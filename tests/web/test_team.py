"""The screen Team: members, what waits for an answer, conflicts with their versions, and when each target was reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pytest
from tests.sync.machines import Machines, Person
from tests.web.conftest import QUIET
from tests.web.served import Served


@pytest.fixture
def machines(home: Path, tmp_path: Path) -> Machines:
    folder = tmp_path / "machines"
    folder.mkdir()
    return Machines(folder)


@contextmanager
def page_of(person: Person) -> Iterator[Served]:
    serving = Served(person.repo, {**person.env, **QUIET})
    serving.sign_in()
    yield serving
    assert serving.stop() == ""


def test_a_memory_that_was_never_synced_says_how_to_share_it(demo_server: Served) -> None:
    page = demo_server.get(f"/{demo_server.slug}/team")
    assert "holdfast sync FOLDER" in page and "holdfast team create" in page


def test_members_are_listed_and_agents_see_what_one_shares_after_the_answer(machines: Machines) -> None:
    ana, ben = machines.team("Ana", "Ben")
    chosen = ana.decide("The export client makes at most five attempts", "the partner bans clients")
    ana("team", "share", chosen)
    machines.settle(ana, ben)
    with page_of(ben) as serving:
        path = f"/{serving.slug}/team"
        page = serving.get(path)
        assert "Ana" in page and "Ben (you)" in page and "2 members" in page
        assert "at most five attempts" in page and "found by search only" in page
        assert "waits for your answer" in page and "last synced" in page
        (member,) = set(re.findall(r'"member": ?"([^"]+)"', unescape(page)))
        done = serving.post(f"{path}/trust", {"member": member, "told": "yes"})
        assert "Agents here see what Ana shares" in done.text and "data-undo" in done.text
        assert "told to agents" in serving.get(path)
        serving.post(f"{path}/trust", {"member": member, "told": ""})
        assert "found by search only" in serving.get(path)


def test_a_conflict_shows_its_versions_and_is_settled_here(machines: Machines) -> None:
    laptop, desktop = two = machines.two_of_one()
    laptop.decide("The export client makes at most five attempts", "the partner bans clients")
    machines.settle(*two)
    laptop.edit(laptop.shop / "reference.md", "the partner bans clients", "the contract counts attempts")
    desktop.edit(desktop.shop / "reference.md", "the partner bans clients", "the gateway is slow")
    machines.settle(*two)
    (conflict,) = laptop.json("sync", "--conflicts")
    chosen = next(v["version"] for v in conflict["versions"] if "contract" in v["text"])
    with page_of(laptop) as serving:
        path = f"/{serving.slug}/team"
        page = serving.get(path)
        assert "the contract counts attempts" in page and "the gateway is slow" in page
        assert "counts now" in page
        assert "Resolved" in serving.post(f"{path}/settle", {"version": chosen}).text
        assert "the gateway is slow" not in serving.get(path)
    machines.settle(*two)
    assert "the contract counts attempts" in (desktop.shop / "reference.md").read_text(encoding="utf-8")
