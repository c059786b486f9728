"""Claude Code without a terminal."""

from __future__ import annotations

import json

from tests.e2e.clients.contract import KEY, Client, write
from tests.e2e.model_server import ModelServer

MODEL = "claude-sonnet-4-5"
ALLOWED = "Bash,Read,mcp__holdfast"


class ClaudeCode(Client):
    agent = "claude-code"
    settings = (".claude/settings.json", ".claude.json")
    farewell = "/exit"

    def settle(self) -> None:
        write(self.home / ".claude" / "settings.json", '{\n   "includeCoAuthoredBy": false\n}')
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.repo): {"hasTrustDialogAccepted": True}},
        }
        write(self.home / ".claude.json", json.dumps(known, indent=2))

    def words(self, server: ModelServer, prompt: str, resume: str) -> list[str]:
        again = ["--resume", resume] if resume else []
        allowed = ["--allowedTools", ALLOWED]
        return ["-p", *again, prompt, "--model", MODEL, *allowed, "--output-format", "json"]

    def spoken(self, server: ModelServer, prompt: str) -> list[str]:
        return ["--model", MODEL, "--allowedTools", ALLOWED, "--", prompt]

    def variables(self, server: ModelServer) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def session_in(self, printed: str) -> str:
        return str(json.loads(printed)["session_id"])
