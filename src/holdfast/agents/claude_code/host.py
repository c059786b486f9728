"""Claude Code: hooks in `settings.json`, for the user or, in `settings.local.json`, for one repository.

Tools stand in `~/.claude.json`: for the user, or in the entry of one project, which nobody else gets to see.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.agents import json_hooks
from holdfast.agents.host_contract import SERVER, Change, Host, Scope, Where, Wired
from holdfast.agents.json_config import JsonFile, followed, kept, leads_elsewhere

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


LINE = "statusLine"
LOCAL = "settings.local.json"


class ClaudeCode:
    agent = "claude-code"
    title = "Claude Code"

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        settings = self._settings(where, scope)
        hooks = json_hooks.installed(settings, settings.data(), entries(where.interpreter))
        return (self._with_line(where, settings, hooks), *self._tools(where, scope))

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        settings, tools = self._settings(where, scope), self._tool_file(where)
        data = tools.data()
        keys = _keys(where, scope)
        change = tools.unchanged(data)
        if data is not None and b"holdfast" in data and tools.at(tools.text(data), keys) is not None:
            change = tools.change(data, tools.without_member(tools.text(data), keys))
        return _without_line(settings, json_hooks.uninstalled(settings, settings.data())), change

    def status(self, where: Where, scope: Scope) -> Wired:
        settings = self._settings(where, scope)
        data = settings.data()
        line = settings.value(data).get(LINE) if data is not None else None
        changed = is_our_line(line) and line != status_line(where.interpreter)
        also = (LINE,) if changed else ()
        return json_hooks.wired(self.agent, scope, settings, entries(where.interpreter), also)

    def found(self, where: Where) -> bool:
        return folder(where).is_dir()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        if where.status_line and (other := self._another_line(where, scope)):
            return (f"{other} has a status line already, which stays. Ours prints: holdfast statusline",)
        return ()

    def _with_line(self, where: Where, settings: JsonFile, hooks: Change) -> Change:
        """With our status line, where it is wanted and nobody else's is there, or where an old one of ours is."""
        text = settings.text(hooks.after)
        found = settings.at(text, (LINE,))
        scope: Scope = "project" if settings.path.name == LOCAL else "user"
        free = where.status_line and not self._another_line(where, scope)
        wanted = status_line(where.interpreter)
        if found == wanted or not (free or is_our_line(found)):
            return hooks
        return settings.change(hooks.before, settings.with_member(text, (LINE,), wanted))

    def _another_line(self, where: Where, scope: Scope) -> Path | None:
        """The file that has somebody else's status line, which ours would replace there or hide from here."""
        places: list[Path] = [followed(folder(where) / "settings.json")]
        if scope == "project":
            places += [where.project / ".claude" / name for name in ("settings.json", LOCAL)]
        for path in places:
            file = JsonFile(
                where=where, path=path, title=self.title, linked=leads_elsewhere(where, path, scope)
            )
            data = file.data()
            if data is not None and (line := file.value(data).get(LINE)) and not is_our_line(line):
                return path
        return None

    def _settings(self, where: Where, scope: Scope) -> JsonFile:
        if scope == "project":
            path = where.project / ".claude" / LOCAL
        else:
            path = followed(folder(where) / "settings.json")
        return JsonFile(where=where, path=path, title=self.title, linked=leads_elsewhere(where, path, scope))

    def _tools(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        if not where.server:
            return ()
        file = self._tool_file(where)
        data = file.data()
        text, keys = file.text(data), _keys(where, scope)
        known = file.at(text, keys)
        wanted = kept(known, server(where), "type", "command", "args")
        if known == wanted:
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


def status_line(interpreter: str) -> dict[str, Any]:
    return {"type": "command", "command": json_hooks.command(interpreter, "statusline")}


def is_our_line(value: object) -> bool:
    return isinstance(value, dict) and bool(json_hooks.OURS.search(str(value.get("command", ""))))


def _without_line(settings: JsonFile, change: Change) -> Change:
    if change.after is None or not json_hooks.mentioned(change.after):
        return change
    text = settings.text(change.after)
    if not is_our_line(settings.at(text, (LINE,))):
        return change
    return settings.change(change.before, settings.without_member(text, (LINE,)))


def server(where: Where) -> dict[str, Any]:
    """The tools. Without `alwaysLoad` they are hidden behind a search for tools."""
    program, *words = where.server
    return {"type": "stdio", "command": program, "args": words, "alwaysLoad": True}


def _keys(where: Where, scope: Scope) -> tuple[str, ...]:
    if scope == "project":
        return ("projects", str(where.project), "mcpServers", SERVER)
    return ("mcpServers", SERVER)


def folder(where: Where) -> Path:
    configured = where.env.get("CLAUDE_CONFIG_DIR")
    return (Path(configured).expanduser() if configured else where.home / ".claude").absolute()
