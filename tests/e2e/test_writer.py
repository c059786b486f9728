"""Real clients as the writer: asked without a terminal, not captured, their answer kept where it quotes the session."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.agents.builders import ClaudeFile
from tests.e2e.model_server import serving
from tests.e2e.world import World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="written for POSIX process groups"),
]

RULE = "For the export client we stay at five attempts, because the partner bans clients that hammer"
ANSWER = {
    "statements": [
        {
            "kind": "decision",
            "status": "agreed",
            "text": "The export client makes five attempts: the partner bans clients that hammer",
            "quote": "we stay at five attempts",
        }
    ]
}


@pytest.mark.promise("W12")
@pytest.mark.parametrize(
    ("agent", "writer"), [("claude-code", "claude"), ("codex", "codex"), ("gemini", "gemini")]
)
def test_the_users_own_agent_writes_what_was_settled(
    agent: str, writer: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ClaudeFile(cwd=str(world.repo))
    file.user(0, "Let us look at the export client")
    file.assistant(1, "It tries three times now.")
    file.user(2, RULE)
    file.assistant(3, "Understood, five.")
    folder = world.home / ".claude" / "projects" / "-shop"
    folder.mkdir(parents=True, exist_ok=True)
    file.save(folder / "0f0e7c1a-58a4-4c4e-9b53-0d9f6b7e2a11.jsonl")
    world.holdfast("import")
    client = world.client(agent)
    (world.home / ".holdfast" / "config.toml").write_text(f'writer = "{writer}"\n', encoding="utf-8")
    with serving([json.dumps(ANSWER)]) as server:
        server.answers_errands = agent == "claude-code"
        if agent == "codex":  # its address is an argument of our own runs, which the writer does not know
            config = world.home / ".codex" / "config.toml"
            text = config.read_text(encoding="utf-8").replace("http://127.0.0.1:9", server.url)
            config.write_text(text, encoding="utf-8")
        for name, value in client.variables(server).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PATH", f"{Path(client.program).parent}{os.pathsep}{os.environ['PATH']}")
        written = world.holdfast("note", "write", "--json").json()
        assert [one["text"] for one in written["added"]] == [ANSWER["statements"][0]["text"]]
        assert any("we stay at five attempts" in turn.text for turn in server.requests)
    world.settled()
    sessions = [row["session"] for row in world.holdfast("ledger", "list", "--json").json()]
    assert sum(not session.startswith("w-") for session in sessions) == 1, "the call itself is not captured"
