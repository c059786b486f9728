"""Knowledge is kept in session.json: whole, merged with what is there, and never at the cost of what others put there."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.core.errors import FormatTooNew, StoreError
from holdfast.knowledge import store
from holdfast.model.knowledge import Convention, Evidence, FileNote, Items, Knowledge, LearnedFact, Pattern
from holdfast.store.project import Project, find_project

ITEMS = Items(
    conventions=(
        Convention(category="naming", pattern="snake_case", evidence=(Evidence("a.py", "x"),), confirmed=1.0),
    ),
    patterns=(Pattern(name="fixtures", description="Tests get what they need", files=("a.py",)),),
    facts=(LearnedFact(category="build", statement="Uses make", session="s1", sources=("s1",)),),
    files=(FileNote(path="a.py", language="python", complexity=3, neighbours=("b.py",)),),
)


@pytest.fixture
def project(repo: Path, home: Path) -> Project:
    found = find_project(repo, home / ".holdfast")
    found.prepare()
    return found


@pytest.mark.promise("K8")
def test_what_is_kept_is_read_back(project: Project) -> None:
    known = Knowledge(now=ITEMS, archive=ITEMS, scanned_at=5.0)
    assert store.change(project, lambda _: known) == known
    assert store.load(project) == known
    document = json.loads((project.memory / "session.json").read_text(encoding="utf-8"))
    assert document["format"] == 1
    assert document["knowledge"]["conventions"][0]["pattern"] == "snake_case"


def test_nothing_kept_is_nothing_known(project: Project) -> None:
    assert store.load(project) == Knowledge()
    assert not (project.memory / "session.json").exists()


@pytest.mark.promise("K8")
def test_keys_of_others_and_items_that_cannot_be_read_stay(project: Project) -> None:
    path = project.memory / "session.json"
    broken = {"category": 7}
    path.write_text(
        json.dumps(
            {
                "goal": "ship",
                "knowledge": {
                    "theirs": [1],
                    "facts": [broken],
                    "conventions": [{"category": "naming", "pattern": "x"}],
                },
            }
        ),
        encoding="utf-8",
    )
    store.change(project, lambda known: replace(known, scanned_at=9.0))
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["goal"] == "ship"
    assert document["knowledge"]["theirs"] == [1]
    assert document["knowledge"]["unreadable"] == [{"kind": "facts", "item": broken}]
    assert document["knowledge"]["conventions"][0]["pattern"] == "x"


@pytest.mark.parametrize("text", ["{", "[1]", "\x00", '"x"'])
def test_a_file_that_is_no_object_is_an_error_with_its_place_and_is_left_alone(
    project: Project, text: str
) -> None:
    path = project.memory / "session.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"session\.json"):
        store.change(project, lambda known: known)
    assert path.read_text(encoding="utf-8") == text


def test_a_newer_format_is_read_and_not_written(project: Project) -> None:
    path = project.memory / "session.json"
    path.write_text(
        '{"format": 99, "knowledge": {"conventions": [{"category": "naming", "pattern": "x"}]}}',
        encoding="utf-8",
    )
    assert store.load(project).now.conventions[0].pattern == "x"
    with pytest.raises(FormatTooNew):
        store.change(project, lambda known: replace(known, scanned_at=9.0))


@pytest.mark.promise("K8")
def test_writers_at_the_same_time_lose_nothing(project: Project) -> None:
    def add(number: int) -> None:
        fact = LearnedFact(category="build", statement=f"fact {number}", sources=("s",))
        store.change(
            project, lambda known: replace(known, now=replace(known.now, facts=(*known.now.facts, fact)))
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert len(store.load(project).now.facts) == 40
