"""What `holdfast demo --keep` leaves: a project whose memory has something to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.briefing.explain import injections
from holdfast.briefing.replaced import replaced_passages
from holdfast.memory.listing import StatementList
from holdfast.memory.read import ProjectMemory
from holdfast.store.machine import Machine


@pytest.fixture
def kept(holdfast: Holdfast, tmp_path: Path) -> Machine:
    folder = tmp_path / "kept"
    holdfast("demo", "--keep", folder, check=0)
    env = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder)}
    return Machine(env=env, cwd=folder / "tidepool")


def test_decisions_hold_are_turned_down_and_are_superseded(kept: Machine) -> None:
    listed = StatementList(ProjectMemory(kept.project()))
    decisions = [row.said for row in listed.rows("decision")]
    assert {"agreed", "rejected"} <= {said.status for said in decisions}
    (five,) = [said for said in decisions if "at most five times" in said.text]
    replaced = replaced_passages(kept.project(), listed.memory, {five.session})
    (three,) = [said for said in decisions if "at most three times" in said.text]
    assert replaced[five.id].session == three.session
    assert any("Redis" in other.text for said in decisions for other in listed.turned_down(said))


def test_the_hooks_told_its_sessions_what_was_decided_before(kept: Machine) -> None:
    entries = list(injections(kept.project()))
    told = {
        entry.session[:8]: line.text for entry in entries for line in entry.lines if "you, 11-04" in line.text
    }
    assert "five times" in told["c5cb7254"]  # the session that then settled on three
    assert "SQLite" in told["a2d965de"]
    assert all(entry.time.startswith("2026-11-") for entry in entries)


def test_lines_of_its_files_lead_to_the_sessions_that_wrote_them(holdfast: Holdfast, kept: Machine) -> None:
    said = holdfast("blame", "tidepool/client.py", cwd=kept.cwd, env=dict(kept.env), check=0).stdout
    assert "codex c5cb7254" in said and "claude-code 02a94f2d" in said
