"""The real Claude Code with our MCP server in its configuration: the model calls a tool, and memory has it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Holdfast
from tests.e2e.model_server import ModelServer, Step, serving

# The client and its fixtures, as the tests of the hooks have them.
from tests.e2e.test_claude_code import (  # noqa: F401
    Client,
    claude,
    client,
    nothing_left,
    pytestmark,
)

DECIDE: Step = (
    "mcp__holdfast__remember",
    {"kind": "decision", "text": "Refunds go through the ledger service", "because": "audits"},
)
RECALL: Step = ("mcp__holdfast__recall", {"task": "where do refunds go through?"})


def results(server: ModelServer) -> list[str]:
    """What tools answered, as the model saw it."""
    texts: list[str] = []
    for message in server.conversations()[-1]["messages"]:
        blocks: Any = message["content"] if isinstance(message["content"], list) else []
        for block in blocks:
            if block.get("type") == "tool_result":
                content = block["content"]
                texts.append(
                    content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
                )
    return texts


@pytest.mark.promise("H4")
@pytest.mark.usefixtures("nothing_left")
def test_claude_code_remembers_and_recalls_with_our_tools(
    client: Client,  # noqa: F811
    repo: Path,
    holdfast: Holdfast,
) -> None:
    holdfast("install", "claude-code", "--yes", check=0)
    entry = {"command": sys.executable, "args": ["-m", "holdfast", "mcp"], "alwaysLoad": True}
    settings = repo / ".mcp.json"
    settings.write_text(json.dumps({"mcpServers": {"holdfast": entry}}), encoding="utf-8")
    allowed = [
        "--mcp-config",
        str(settings),
        "--allowedTools",
        "mcp__holdfast__remember,mcp__holdfast__recall",
    ]
    with serving([DECIDE, RECALL, "Done."]) as server:
        client.run(server, "note where refunds go", more=allowed)
    tools = {tool["name"] for tool in server.conversations()[0]["tools"]}
    assert {"mcp__holdfast__recall", "mcp__holdfast__correct"} <= tools
    kept, recalled = results(server)
    assert "recorded as a decision" in kept
    assert "Refunds go through the ledger service" in recalled
    assert "[/holdfast " in recalled
    listed = holdfast("decide", "--list", "--json", check=0).json()
    assert [(one["text"], one["by"]) for one in listed] == [
        ("Refunds go through the ledger service", "agent")
    ]
