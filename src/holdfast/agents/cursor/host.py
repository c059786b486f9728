"""Cursor: hooks in `hooks.json`, tools in `mcp.json`, both in `~/.cursor` or, for one repository, in its `.cursor`.

Checked against the hooks code in Cursor's SDK (1.0.18), never run against Cursor. What a hook for prompts says is
accepted there and dropped: ours only listens (`remember: …`). How long a hook may take is left to Cursor: ours end
after 3 seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.agent_kit.host_contract import Change, Host, Scope, Where
from holdfast.agent_kit.json_config import JsonFile
from holdfast.agent_kit.json_hooks import Groups, HookHost, command, keep_out_of_git

EVENTS = ("sessionStart", "beforeSubmitPrompt", "postToolUse", "stop", "preCompact", "sessionEnd")
VERSION = ("version",)
LOOK = (
    "Based on Cursor's documentation and not yet tested with Cursor itself: check that its settings list holdfast"
    " under Hooks and under Tools & MCP."
)


class Cursor(HookHost):
    agent = "cursor"
    title = "Cursor"
    timeouts = dict.fromkeys(EVENTS, 0)
    matchers: Mapping[str, str] = {"postToolUse": "Shell|Read|Write"}
    earlier: Mapping[str, str] = {"postToolUse": "Shell"}
    since = ("beforeSubmitPrompt",)
    new_file = '{\n  "version": 1\n}\n'

    def folder(self, where: Where) -> Path:
        return where.home / ".cursor"

    def hooks(self, where: Where, scope: Scope) -> JsonFile:
        return self.file(where, scope, "hooks.json", ".cursor/hooks.json")

    def tools(self, where: Where, scope: Scope) -> JsonFile:
        return self.file(where, scope, "mcp.json", ".cursor/mcp.json")

    def server(self, where: Where) -> dict[str, Any]:
        return {"type": "stdio", **where.server_entry}

    def entries(self, interpreter: str) -> dict[str, dict[str, Any]]:
        """No groups, and no times."""
        return {
            event: {
                "command": command(interpreter, self.agent, event),
                **({"matcher": self.matchers[event]} if event in self.matchers else {}),
            }
            for event in EVENTS
        }

    def with_hooks(self, file: JsonFile, wanted: Groups) -> Change:
        """Cursor reads no hooks from a file that does not say which version it is."""
        change = super().with_hooks(file, wanted)
        text = file.text(change.after)
        if file.at(text, VERSION) is not None:
            return change
        return file.change(change.before, file.with_member(text, VERSION, 1))

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        if scope == "user":
            return (LOOK,)
        return (LOOK, *keep_out_of_git(where, ".cursor/hooks.json", ".cursor/mcp.json"))


HOST: Host = Cursor()
