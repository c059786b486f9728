"""A decision that was made in one person's Claude Code reaches another person's Codex: through sync, and after one question."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.e2e.clients import Client
from tests.e2e.model_server import serving
from tests.e2e.test_decisions import ASKED, DONE, PROMPT, PROPOSED, SETTLED
from tests.e2e.world import World, told
from tests.patience import wait_until
from tests.sync.machines import Machines, Person

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]
WORDS = "five attempts"


@pytest.mark.promise("T6", "T7")
def test_a_decision_made_in_one_persons_claude_code_is_in_anothers_codex_after_one_question(
    home: Path, tmp_path: Path
) -> None:
    ana, ben = Machines(tmp_path).team("Ana", "Ben")
    here, there = (World(person.home, person.repo, person) for person in (ana, ben))
    claude, codex = here.install("claude-code"), there.install("codex")
    ana("sync", "--after-session", "on")
    with serving([PROPOSED, DONE]) as server:
        session = claude.run(server, ASKED).session
        claude.run(server, SETTLED, resume=session)
        here.settled()
    ana("team", "share", _settled(ana))
    with serving(["It is short."]) as server:
        claude.run(server, "Read the README")  # what is shared goes out when this session has ended
        here.settled()
    assert ben.sync()["waits_for"], "it is there, and waits for an answer"
    found = ben("search", "label export attempts").stdout
    assert WORDS in found and "Ana" in found
    assert all(WORDS not in line for line in _heard(there, codex))
    assert "holdfast team trust Ana" in ben("sync").stdout + ben("team").stdout
    ben("team", "trust", "Ana", "--yes")
    lines = [line for line in _heard(there, codex) if WORDS in line]
    assert lines, there.state()
    assert all("Ana" in line for line in lines)
    ana("team", "private", _shared(ana))
    ana.sync()
    ben.sync()
    assert all(WORDS not in line for line in _heard(there, codex)), (
        "what its author takes back is told no more"
    )
    assert wait_until(lambda: here.processes() == there.processes() == [])
    assert here.confessed() == there.confessed() == ""


def _heard(world: World, client: Client) -> list[str]:
    with serving(["I will look at it."]) as server:
        client.run(server, PROMPT)
        lines = told(server.turns()[0])
    world.settled()
    return lines


def _settled(person: Person) -> str:
    """The id of what was settled in the chat."""
    hits = person.json("search", "label export attempts")
    return str(next(hit["id"] for hit in hits if WORDS in hit["text"] and hit["id"].startswith("D-")))


def _shared(person: Person) -> str:
    (item,) = person.json("team", "items")
    return str(item["id"])
