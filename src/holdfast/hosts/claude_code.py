"""Claude Code: hooks in `settings.json`, for the user or, in `settings.local.json`, for one repository.

Tools stand in `~/.claude.json`: for the user, or in the entry of one project, which nobody else gets to see.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.hosts import json_hooks
from holdfast.hosts.contract import SERVER, Change, Host, Scope, Where, Wired
from holdfast.hosts.json_file import JsonFile, followed, leads_elsewhere

# Seconds until the host gives up on a hook. Ours end after 3; an end without a time is cancelled early.
TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "PreToolUse": 5,
    "Stop": 5,
    "PreCompact": 5,
    "SessionEnd": 10,
}
# Calls of other tools start no process of ours.
MATCHERS = {"PreToolUse": "Bash|AskUserQuestion"}


class ClaudeCode:
    agent = "claude-code"
    title = "Claude Code"

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        settings = self._settings(where, scope)
        hooks = json_hooks.installed(settings, settings.data(), entries(where.interpreter))
        return (hooks, *self._tools(where, scope))

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        settings, tools = self._settings(where, scope), self._tool_file(where)
        data = tools.data()
        keys = _keys(where, scope)
        change = tools.unchanged(data)
        if data is not None and b"holdfast" in data and tools.at(tools.text(data), keys) is not None:
            change = tools.change(data, tools.without_member(tools.text(data), keys))
        return json_hooks.uninstalled(settings, settings.data()), change

    def status(self, where: Where, scope: Scope) -> Wired:
        settings = self._settings(where, scope)
        data = settings.data()
        wanted = entries(where.interpreter)
        missing = json_hooks.missing(settings.value(data), wanted) if data is not None else list(wanted)
        return Wired(
            agent=self.agent,
            scope=scope,
            path=settings.path,
            installed=json_hooks.mentioned(data),
            missing=tuple(missing),
        )

    def found(self, where: Where) -> bool:
        return _folder(where).is_dir()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        return ()

    def _settings(self, where: Where, scope: Scope) -> JsonFile:
        if scope == "project":
            path = where.project / ".claude" / "settings.local.json"
        else:
            path = followed(_folder(where) / "settings.json")
        return JsonFile(where=where, path=path, title=self.title, linked=leads_elsewhere(path, scope))

    def _tools(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        if not where.server:
            return ()
        file = self._tool_file(where)
        data = file.data()
        text, keys, wanted = file.text(data), _keys(where, scope), server(where)
        if file.at(text, keys) == wanted:
            return (file.unchanged(data),)
        return (file.change(data, file.with_member(text, keys, wanted)),)

    def _tool_file(self, where: Where) -> JsonFile:
        configured = where.env.get("CLAUDE_CONFIG_DIR")
        folder = Path(configured).expanduser().absolute() if configured else where.home
        return JsonFile(where=where, path=followed(folder / ".claude.json"), title=self.title)


HOST: Host = ClaudeCode()


def entries(interpreter: str) -> dict[str, dict[str, Any]]:
    """One hook for each event, as Claude Code wants it."""
    return json_hooks.groups(interpreter, ClaudeCode.agent, TIMEOUTS, MATCHERS)


def server(where: Where) -> dict[str, Any]:
    """The tools. Without `alwaysLoad` they are hidden behind a search for tools."""
    program, *words = where.server
    return {"type": "stdio", "command": program, "args": words, "alwaysLoad": True}


def _keys(where: Where, scope: Scope) -> tuple[str, ...]:
    if scope == "project":
        return ("projects", str(where.project), "mcpServers", SERVER)
    return ("mcpServers", SERVER)


def _folder(where: Where) -> Path:
    configured = where.env.get("CLAUDE_CONFIG_DIR")
    return (Path(configured).expanduser() if configured else where.home / ".claude").absolute()
