"""GitHub Copilot CLI: hooks in a file of ours alone, tools in the one list of servers, both in `~/.copilot`.

For one repository: hooks in its local settings, which are one person's, and tools in its list of servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.agent_kit.host_contract import Change, Host, Scope, Where
from holdfast.agent_kit.json_config import JsonFile
from holdfast.agent_kit.json_hooks import Groups, HookHost, installed, keep_out_of_git
from holdfast.agent_kit.slash_commands import NAME, Plugin, as_skills, marketplace, quoted

# Seconds until the host gives up on a hook.
TIMEOUTS = {
    "sessionStart": 5,
    "userPromptSubmitted": 5,
    "preToolUse": 5,
    "agentStop": 5,
    "preCompact": 5,
    "sessionEnd": 10,
}
SETTINGS, SERVERS = ".github/copilot/settings.local.json", ".github/mcp.json"
TRUSTED = "Copilot reads a repository's hooks only in folders you trust: start copilot here once and agree."


class Copilot(HookHost):
    agent = "copilot"
    title = "GitHub Copilot CLI"
    timeouts = TIMEOUTS
    matchers: Mapping[str, str] = {"preToolUse": "bash|ask_user|view|edit|create"}
    earlier: Mapping[str, str] = {"preToolUse": "bash|ask_user"}
    new_file = '{\n  "version": 1\n}\n'

    def folder(self, where: Where) -> Path:
        return where.folder("COPILOT_HOME", ".copilot")

    def hooks(self, where: Where, scope: Scope) -> JsonFile:
        return self.file(where, scope, "hooks/holdfast.json", SETTINGS)

    def tools(self, where: Where, scope: Scope) -> JsonFile:
        return self.file(where, scope, "mcp-config.json", SERVERS)

    def server(self, where: Where) -> dict[str, Any]:
        """All tools, and none hidden behind a search for tools."""
        return {"type": "local", **where.server_entry, "tools": ["*"], "deferTools": "never"}

    def with_hooks(self, file: JsonFile, wanted: Groups) -> Change:
        """Settings of a repository need not say which version they are."""
        if file.path.name == "settings.local.json":
            return installed(file, file.data(), wanted)
        return super().with_hooks(file, wanted)

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooked, tools = super().uninstall(where, scope)
        ours = scope == "user" and hooked.changes
        if ours and self.hooks(where, scope).value(hooked.after) in ({}, {"version": 1}):
            hooked = Change(path=hooked.path, before=hooked.before, after=None)
        return hooked, tools

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        return () if scope == "user" else (TRUSTED, *keep_out_of_git(where, SETTINGS, SERVERS))

    def plugin(self, where: Where, folder: Path) -> Plugin:
        # It starts a plugin's server in the plugin's folder, and puts variables in: the shell's says where a person is.
        server = {**self.server(where), "cwd": "${PWD}"} if where.server else {}
        return Plugin(
            files=marketplace(where, self.entries(where.interpreter), server, as_skills),
            commands=(
                f"copilot plugin marketplace add {quoted(folder)}",
                f"copilot plugin install {NAME}@{NAME}",
            ),
        )


HOST: Host = Copilot()
