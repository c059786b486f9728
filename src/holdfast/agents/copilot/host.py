"""GitHub Copilot CLI: hooks in a file of ours alone, tools in the one list of servers, both in `~/.copilot`.

For one repository: hooks in its local settings, which are one person's, and tools in its list of servers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.agents import json_hooks
from holdfast.agents.host_contract import SERVER, Change, Host, Scope, Where, Wired
from holdfast.agents.json_config import JsonFile, followed, kept, leads_elsewhere
from holdfast.agents.json_hooks import keep_out_of_git, refuse_tracked

# Seconds until the host gives up on a hook.
TIMEOUTS = {
    "sessionStart": 5,
    "userPromptSubmitted": 5,
    "preToolUse": 5,
    "agentStop": 5,
    "preCompact": 5,
    "sessionEnd": 10,
}
# Calls of other tools start no process of ours.
MATCHERS = {"preToolUse": "bash|ask_user"}
KEYS = ("mcpServers", SERVER)
EMPTY = '{\n  "version": 1\n}\n'
SETTINGS, SERVERS = ".github/copilot/settings.local.json", ".github/mcp.json"
TRUSTED = (
    "Copilot reads a repository's hooks in a folder that you trust: start copilot here once and say yes."
)


class Copilot:
    agent = "copilot"
    title = "GitHub Copilot CLI"

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks, tools = self._hooks(where, scope), self._tools(where, scope)
        refuse_tracked(where, scope, hooks.path)
        data, wanted = hooks.data(), entries(where.interpreter)
        if scope == "user" and data is None:
            changes = [hooks.change(None, json_hooks.with_groups(hooks, EMPTY, wanted))]
        else:
            changes = [json_hooks.installed(hooks, data, wanted)]
        if where.server:
            refuse_tracked(where, scope, tools.path)
            changes.append(_with_server(tools, server(where)))
        return tuple(changes)

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks, tools = self._hooks(where, scope), self._tools(where, scope)
        hooked = json_hooks.uninstalled(hooks, hooks.data())
        if scope == "user" and hooked.changes and hooks.value(hooked.after) in ({}, {"version": 1}):
            hooked = Change(path=hooks.path, before=hooked.before, after=None)
        data = tools.data()
        change = tools.unchanged(data)
        if data is not None and b"holdfast" in data and tools.at(tools.text(data), KEYS) is not None:
            change = tools.change(data, tools.without_member(tools.text(data), KEYS))
        return hooked, change

    def status(self, where: Where, scope: Scope) -> Wired:
        return json_hooks.wired(self.agent, scope, self._hooks(where, scope), entries(where.interpreter))

    def found(self, where: Where) -> bool:
        return _folder(where).is_dir()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        return () if scope == "user" else (TRUSTED, *keep_out_of_git(where, SETTINGS, SERVERS))

    def _hooks(self, where: Where, scope: Scope) -> JsonFile:
        return self._file(where, scope, SETTINGS if scope == "project" else "hooks/holdfast.json")

    def _tools(self, where: Where, scope: Scope) -> JsonFile:
        return self._file(where, scope, SERVERS if scope == "project" else "mcp-config.json")

    def _file(self, where: Where, scope: Scope, name: str) -> JsonFile:
        path = where.project / name if scope == "project" else followed(_folder(where) / name)
        return JsonFile(where=where, path=path, title=self.title, linked=leads_elsewhere(where, path, scope))


HOST: Host = Copilot()


def entries(interpreter: str) -> dict[str, dict[str, Any]]:
    """One hook for each event. Copilot reads groups as Claude Code writes them."""
    return json_hooks.groups(interpreter, Copilot.agent, TIMEOUTS, MATCHERS)


def server(where: Where) -> dict[str, Any]:
    """The tools, all of them, and none hidden behind a search for tools."""
    program, *words = where.server
    return {"type": "local", "command": program, "args": words, "tools": ["*"], "deferTools": "never"}


def _with_server(file: JsonFile, wanted: dict[str, Any]) -> Change:
    data = file.data()
    text = file.text(data)
    known = file.at(text, KEYS)
    wanted = kept(known, wanted, "type", "command", "args")
    if known == wanted:
        return file.unchanged(data)
    return file.change(data, file.with_member(text, KEYS, wanted))


def _folder(where: Where) -> Path:
    configured = where.env.get("COPILOT_HOME")
    return (Path(configured).expanduser() if configured else where.home / ".copilot").absolute()
