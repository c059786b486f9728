"""Copilot CLI without a terminal, offline with a provider of one's own."""

from __future__ import annotations

import json

from tests.e2e.clients.contract import KEY, Client, write
from tests.e2e.model_server import ModelServer


class Copilot(Client):
    agent = "copilot"
    settings = (".copilot/config.json", ".copilot/mcp-config.json")

    def settle(self) -> None:
        trusted = {"trustedFolders": [str(self.repo)], "banner": "never"}
        write(self.home / ".copilot" / "config.json", json.dumps(trusted, indent=2))
        write(self.home / ".copilot" / "mcp-config.json", '{\n\t"mcpServers": {}\n}\n')

    def words(self, server: ModelServer, prompt: str, resume: str) -> list[str]:
        again = [f"--resume={resume}"] if resume else []
        return [*again, "-p", prompt, "--allow-all-tools", "--output-format", "json"]

    def spoken(self, server: ModelServer, prompt: str) -> list[str]:
        return ["--allow-all-tools", "-i", prompt]

    def variables(self, server: ModelServer) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{server.url}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "gpt-4.1",
        }

    def session_in(self, printed: str) -> str:
        events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        return next(str(event["sessionId"]) for event in events if event["type"] == "result")
