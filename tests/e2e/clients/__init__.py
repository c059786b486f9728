"""The clients that are driven, one module each, behind `Client` of contract.py."""

from __future__ import annotations

from tests.e2e.clients.claude_code import ClaudeCode
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.contract import Answer, Client, kill
from tests.e2e.clients.copilot import Copilot
from tests.e2e.clients.gemini import Gemini
from tests.e2e.clients.opencode import OpenCode
from tests.e2e.clients.qwen import Qwen

__all__ = ["CLIENTS", "Answer", "Client", "kill"]

CLIENTS: dict[str, type[Client]] = {
    kind.agent: kind for kind in (ClaudeCode, Codex, Gemini, OpenCode, Copilot, Qwen)
}
