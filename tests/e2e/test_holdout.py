"""Real clients respect the holdout: the first request of a session in it holds nothing of ours, that of another does."""

from __future__ import annotations

import json
import os

import pytest
from tests.e2e.model_server import serving
from tests.e2e.story import AGENTS, CODING, LESSON
from tests.e2e.world import World, told

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
    pytest.mark.promise("P2"),
]
MOST_SESSIONS = 12


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_in_the_holdout_is_told_nothing_and_another_is(agent: str, world: World) -> None:
    client = world.install(agent)
    world.holdfast("lessons", "add", "money", "--rule", LESSON)
    world.holdfast("holdout", "50%", "--yes")
    sessions: dict[str, str] = {}
    for number in range(MOST_SESSIONS):
        with serving(["Done."]) as server:
            answer = client.run(server, CODING)
            drawn = arms(world)
            assert len(drawn) == number + 1, "each session is drawn once"
            assert bool(told(server.turns()[0])) is (drawn[-1] == "told"), told(server.turns()[0])
        sessions.setdefault(drawn[-1], answer.session)
        if len(sessions) == 2:
            break
    assert set(sessions) == {"held", "told"}, "of many sessions some are in each arm"
    before = arms(world)
    for arm, session in sessions.items():
        with serving(["Done."]) as server:
            client.run(server, f"{CODING}, once more", resume=session)
            assert any(told(request) for request in server.turns()) is (arm == "told")
    assert arms(world) == before, "a resumed session keeps its arm"
    world.settled()
    captured = " ".join(world.rows())
    assert all(session in captured for session in sessions.values()), "both are captured"


def arms(world: World) -> list[str]:
    lines = (world.memory / "holdout.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["arm"] for line in lines]
