"""Qwen Code without a terminal."""

from __future__ import annotations

import json

from tests.e2e.clients.contract import KEY, Client, write
from tests.e2e.model_server import ModelServer

_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False},
    # Its own memory is kept by sessions on the side that ask the model too.
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
}


class Qwen(Client):
    agent = "qwen"
    settings = (".qwen/settings.json",)

    def settle(self) -> None:
        write(self.home / ".qwen" / "settings.json", json.dumps(_SETTINGS, indent=2))

    def words(self, server: ModelServer, prompt: str, resume: str) -> list[str]:
        again = ["--resume", resume] if resume else []
        return [*again, "-p", prompt, "--yolo", "--output-format", "json"]

    def spoken(self, server: ModelServer, prompt: str) -> list[str]:
        return ["--yolo", "-i", prompt]

    def variables(self, server: ModelServer) -> dict[str, str]:
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_MODEL": "scripted"}

    def session_in(self, printed: str) -> str:
        return str(json.loads(printed)[0]["session_id"])
