"""Knowledge over time: seen again is merged, seen no more is set aside, facts of sessions come in and can be taken back."""

from __future__ import annotations

import json
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.flows import facts as fact_commands
from holdfast.flows.repo_scan import REST_S, keep_fresh, look
from holdfast.knowledge.store import load, merged
from holdfast.model.knowledge import (
    SCAN,
    Caps,
    Convention,
    Evidence,
    FileNote,
    Items,
    Knowledge,
    LearnedFact,
    Looked,
    Pattern,
)
from holdfast.model.memory import Fact
from holdfast.store.machine import Machine


def convention(pattern: str, confidence: float = 0.8, *paths: str) -> Convention:
    return Convention(
        category="naming",
        pattern=pattern,
        confidence=confidence,
        evidence=tuple(Evidence(p) for p in paths),
        by=SCAN,
    )


def seen(*conventions: Convention) -> Items:
    return Items(conventions=conventions)


@pytest.mark.promise("K6")
def test_seen_again_merges_confidence_and_sources() -> None:
    known = merged(Knowledge(), seen(convention("snake_case", 0.6, "a.py")), Looked(), 1.0, Caps())
    again = merged(known, seen(convention("snake_case", 0.9, "b.py")), Looked(), 2.0, Caps())
    (one,) = again.now.conventions
    assert 0.6 < one.confidence < 0.9
    assert [evidence.path for evidence in one.evidence] == ["b.py", "a.py"]
    assert one.confirmed == 2.0


@pytest.mark.promise("K6")
def test_what_is_not_seen_again_is_archived_and_comes_back_with_its_past() -> None:
    first = merged(Knowledge(), seen(convention("snake_case", 0.6, "a.py")), Looked(), 1.0, Caps())
    gone = merged(first, seen(), Looked(), 2.0, Caps())
    assert gone.now.conventions == ()
    assert [one.pattern for one in gone.archive.conventions] == ["snake_case"]
    back = merged(gone, seen(convention("snake_case", 0.8, "b.py")), Looked(), 3.0, Caps())
    assert back.archive.conventions == ()
    assert [evidence.path for evidence in back.now.conventions[0].evidence] == ["b.py", "a.py"]


@pytest.mark.promise("K6")
def test_over_the_cap_the_least_recently_confirmed_goes_first_and_is_kept_in_the_archive() -> None:
    old = tuple(LearnedFact(category="build", statement=f"fact {n}", confirmed=float(n)) for n in range(120))
    known = merged(Knowledge(now=Items(facts=old)), Items(), Looked(), 1.0, Caps())
    assert len(known.now.facts) == 100
    assert {fact.statement for fact in known.archive.facts} == {f"fact {n}" for n in range(20)}


@pytest.mark.promise("K6")
def test_the_caps_are_those_of_the_seed_and_nothing_is_lost() -> None:
    many = Items(
        conventions=tuple(convention(f"style {n}") for n in range(60)),
        patterns=tuple(Pattern(name=f"p{n}", by=SCAN) for n in range(60)),
        files=tuple(FileNote(path=f"{n}.py", by=SCAN, changes=n) for n in range(250)),
    )
    known = merged(Knowledge(), many, Looked(), 1.0, Caps())
    assert (len(known.now.conventions), len(known.now.patterns), len(known.now.files)) == (50, 50, 200)
    assert (len(known.archive.conventions), len(known.archive.patterns), len(known.archive.files)) == (
        10,
        10,
        50,
    )
    assert "249.py" in {note.path for note in known.now.files}


def test_what_others_wrote_into_the_file_stays_until_the_cap() -> None:
    theirs = Convention(category="naming", pattern="theirs")
    known = merged(Knowledge(now=seen(theirs)), seen(convention("ours")), Looked(), 5.0, Caps())
    assert {one.pattern for one in known.now.conventions} == {"theirs", "ours"}
    capped = merged(known, seen(convention("ours")), Looked(), 6.0, Caps(conventions=1))
    assert [one.pattern for one in capped.now.conventions] == ["ours"]
    assert [one.pattern for one in capped.archive.conventions] == ["theirs"]


@pytest.fixture
def machine(repo: Path) -> Machine:
    (repo / "src").mkdir()
    for n in range(6):
        (repo / "src" / f"some_file_{n}.py").write_text(
            f"def load_it_{n}():\n    return {n}\n", encoding="utf-8"
        )
    (repo / "Makefile").write_text(
        "deploy:\n\tcurl -H 'Authorization: Bearer sk-ant-REDACTED' x\n\ntest:\n\tpytest\n", encoding="utf-8"
    )
    for words in (["add", "-A"], ["commit", "--quiet", "-m", "Start"]):
        subprocess.run(["git", *words], cwd=repo, check=True)
    return Machine(cwd=repo)


@pytest.mark.promise("K4")
def test_facts_of_sessions_come_with_category_session_and_time(machine: Machine) -> None:
    fact_commands.add_fact(machine, "Tests need redis running", "redis refused", "pytest", "testing")
    (fact,) = look(machine, machine.project(), keep=True).knowledge.now.facts
    assert (fact.category, fact.statement) == ("testing", "Tests need redis running")
    assert fact.timestamp.startswith("20")
    assert load(machine.project()).now.facts == (fact,)


@pytest.mark.promise("K4")
def test_a_retired_fact_is_no_longer_told(machine: Machine) -> None:
    fact_commands.add_fact(machine, "Tests need redis running", "redis refused", "pytest", "testing")
    look(machine, machine.project(), keep=True)
    fact_commands.retire(machine, Fact(text="Tests need redis running").id)
    known = look(machine, machine.project(), keep=True).knowledge
    assert known.now.facts == ()
    assert [fact.statement for fact in known.archive.facts] == ["Tests need redis running"]


@pytest.mark.promise("K8", "K9")
def test_an_unchanged_checkout_is_seen_as_such_and_a_changed_file_is_not(machine: Machine) -> None:
    project = machine.project()
    assert not look(machine, project, keep=True).unchanged
    assert look(machine, project, keep=True).unchanged
    (project.root / "src" / "some_file_1.py").write_text(
        "def loadIt():\n    return 12345\n", encoding="utf-8"
    )
    assert not look(machine, project, keep=True).unchanged
    assert look(machine, project, keep=True).unchanged
    (project.root / "src" / "new_file.py").write_text("x = 1\n", encoding="utf-8")
    subprocess.run(["git", "add", "-A"], cwd=project.root, check=True)
    assert not look(machine, project, keep=True).unchanged


def test_a_broken_cache_only_costs_a_look(machine: Machine) -> None:
    project = machine.project()
    look(machine, project, keep=True)
    (project.memory / "scan.cache").write_bytes(b"\xff\x00{]")
    assert look(machine, project, keep=True).knowledge.now.conventions


def test_looking_without_keeping_writes_nothing(machine: Machine) -> None:
    project = machine.project()
    found = look(machine, project, keep=False)
    assert found.knowledge.now.conventions
    assert not project.memory.exists()
    assert not project.window.exists()


@pytest.mark.promise("K8")
def test_secrets_in_commands_are_not_kept(machine: Machine) -> None:
    project = machine.project()
    look(machine, project, keep=True)
    kept = (project.memory / "session.json").read_text(encoding="utf-8")
    assert "sk-ant-REDACTED" not in kept
    assert "make test (pytest)" in json.dumps(json.loads(kept)["knowledge"]["conventions"])


def test_the_caps_are_configurable(machine: Machine, home: Path) -> None:
    (home / ".holdfast").mkdir()
    (home / ".holdfast" / "config.toml").write_text(
        "know_files = 2\nknow_conventions = 3\n", encoding="utf-8"
    )
    known = look(machine, machine.project(), keep=True).knowledge
    assert (len(known.now.files), len(known.now.conventions)) == (2, 3)
    assert len(known.archive.files) == 4


def test_two_looks_of_the_same_give_the_same(machine: Machine) -> None:
    project = machine.project()
    first = look(machine, project, keep=False).knowledge.now
    second = look(machine, project, keep=False).knowledge.now
    strip = lambda items: [replace(one, confirmed=0.0) for one in items.conventions]  # noqa: E731
    assert strip(first) == strip(second)


@pytest.mark.promise("K4")
def test_a_fact_is_known_as_soon_as_it_is_saved_and_no_file_is_looked_at(machine: Machine) -> None:
    first = look(machine, machine.project(), keep=True).knowledge
    fact_commands.add_fact(machine, "Tests need redis running", "redis refused", "pytest", "testing")
    known = load(machine.project())
    assert [fact.statement for fact in known.now.facts] == ["Tests need redis running"]
    assert known.scanned_at == first.scanned_at
    fact_commands.retire(machine, Fact(text="Tests need redis running").id)
    known = load(machine.project())
    assert not known.now.facts
    assert [fact.statement for fact in known.archive.facts] == ["Tests need redis running"]


@pytest.mark.promise("K4", "K8")
def test_a_new_fact_leaves_the_last_look_standing(machine: Machine) -> None:
    project = machine.project()
    first = look(machine, project, keep=True).knowledge
    fact_commands.add_fact(machine, "The port is 8081", "listening on 8081", "make serve", "environment")
    again = look(machine, project, keep=True)
    assert [fact.statement for fact in again.knowledge.now.facts] == ["The port is 8081"]
    assert again.knowledge.now.conventions == first.now.conventions
    assert again.knowledge.scanned_at == first.scanned_at
    assert look(machine, project, keep=True).unchanged


@pytest.mark.promise("X4")
def test_a_look_that_nobody_asked_for_comes_at_most_every_five_minutes(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = machine.project()
    keep_fresh(machine, project)
    first = load(project)
    assert "make" in [one.pattern for one in first.now.conventions if one.category == "task_runner"]
    (project.root / "Makefile").unlink()
    keep_fresh(machine, project)
    assert load(project) == first
    later = machine.now() + timedelta(seconds=REST_S + 1)
    monkeypatch.setattr(machine, "now", lambda: later)
    keep_fresh(machine, project)
    assert "task_runner" not in [one.category for one in load(project).now.conventions]


def test_a_look_that_is_only_shown_does_not_pass_for_one_that_was_kept(machine: Machine) -> None:
    project = machine.project()
    look(machine, project, keep=True)
    (project.root / "Makefile").unlink()
    shown = look(machine, project, keep=False)
    assert not shown.unchanged
    again = look(machine, project, keep=True)
    assert not again.unchanged
    assert "task_runner" not in [one.category for one in again.knowledge.now.conventions]
