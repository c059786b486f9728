"""Codex without a terminal. Hooks are trusted by a flag, which is for tests: a person trusts them in /hooks."""

from __future__ import annotations

import json

from tests.e2e.clients.contract import KEY, Client, write
from tests.e2e.model_server import ModelServer

_SETTINGS = """# the settings of somebody who has used it before
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"  # no other is asked
base_url = "http://127.0.0.1:9/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[projects."{repo}"]
trust_level = "trusted"
"""


class Codex(Client):
    agent = "codex"
    settings = (".codex/config.toml", ".codex/hooks.json")
    waits = True

    def settle(self) -> None:
        write(self.home / ".codex" / "config.toml", _SETTINGS.format(repo=self.repo))
        own = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 5}]}]}}
        write(self.home / ".codex" / "hooks.json", json.dumps(own, indent=4) + "\n")

    def words(self, server: ModelServer, prompt: str, resume: str) -> list[str]:
        again = ["resume", resume] if resume else []
        return ["exec", *again, "--skip-git-repo-check", "--json", *self._flags(server), prompt]

    def spoken(self, server: ModelServer, prompt: str) -> list[str]:
        return [*self._flags(server), *([prompt] if prompt else [])]

    def _flags(self, server: ModelServer) -> list[str]:
        where = f'model_providers.scripted.base_url="{server.url}/v1"'
        return ["--dangerously-bypass-hook-trust", "-c", where, *self._waiting()]

    def _waiting(self) -> list[str]:
        """A scripted model answers in milliseconds: where a test needs our tools, Codex waits for them as it can be told to."""
        files = (folder / ".codex" / "config.toml" for folder in (self.home, self.repo))
        wired = any(path.exists() and "[mcp_servers.holdfast]" in path.read_text("utf-8") for path in files)
        return ["-c", "mcp_servers.holdfast.required=true"] if wired and self.waits else []

    def variables(self, server: ModelServer) -> dict[str, str]:
        return {"SCRIPTED_KEY": KEY}

    def session_in(self, printed: str) -> str:
        events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        return next(str(event["thread_id"]) for event in events if event["type"] == "thread.started")
