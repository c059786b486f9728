"""Gemini CLI without a terminal."""

from __future__ import annotations

import json

from tests.e2e.clients.contract import KEY, Client, write
from tests.e2e.model_server import ModelServer

MODEL = "gemini-2.5-flash"
_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False},
}


class Gemini(Client):
    agent = "gemini"
    settings = (".gemini/settings.json",)

    def settle(self) -> None:
        write(self.home / ".gemini" / "settings.json", json.dumps(_SETTINGS, indent=2))

    def words(self, server: ModelServer, prompt: str, resume: str) -> list[str]:
        again = ["--resume", resume] if resume else []
        return [*again, "-p", prompt, "--model", MODEL, "--yolo", "--output-format", "json"]

    def spoken(self, server: ModelServer, prompt: str) -> list[str]:
        return ["--model", MODEL, "--yolo", "-i", prompt]

    def variables(self, server: ModelServer) -> dict[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.url}

    def session_in(self, printed: str) -> str:
        return str(json.loads(printed[printed.index("{") :])["session_id"])
