"""OpenCode without a terminal. Where its model is comes from the environment, into settings that stay as they are."""

from __future__ import annotations

import json

from tests.e2e.clients.contract import KEY, Client, write
from tests.e2e.model_server import ModelServer

_SETTINGS = """{
  // the settings of somebody who has used it before
  "$schema": "https://opencode.ai/config.json",
  "model": "scripted/scripted",
  "small_model": "scripted/scripted",
  "autoupdate": false,
  "share": "disabled",
  "permission": { "*": "allow" },
  "provider": {
    "scripted": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Scripted",
      "options": { "baseURL": "{env:SCRIPTED_URL}/v1", "apiKey": "{env:SCRIPTED_KEY}" },
      "models": {
        "scripted": { "name": "scripted", "tool_call": true, "limit": { "context": 200000, "output": 8000 } }
      }
    }
  }
}
"""


class OpenCode(Client):
    agent = "opencode"
    settings = (".config/opencode/opencode.json",)
    note = '"username": "ada"'
    farewell = "/exit"

    def settle(self) -> None:
        write(self.home / ".config" / "opencode" / "opencode.json", _SETTINGS)

    def words(self, server: ModelServer, prompt: str, resume: str) -> list[str]:
        return ["run", prompt, *(["--session", resume] if resume else []), "--format", "json"]

    def spoken(self, server: ModelServer, prompt: str) -> list[str]:
        return ["--prompt", prompt]

    def variables(self, server: ModelServer) -> dict[str, str]:
        return {
            "SCRIPTED_URL": server.url,
            "SCRIPTED_KEY": KEY,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def session_in(self, printed: str) -> str:
        first = next(line for line in printed.splitlines() if line.startswith("{"))
        return str(json.loads(first)["sessionID"])
