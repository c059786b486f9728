"""Claude Code: hooks in `settings.json`, for the user or, in `settings.local.json`, for one repository.

Tools stand in `~/.claude.json`: for the user, or in the entry of one project, which only this user sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.agent_kit import json_hooks
from holdfast.agent_kit.host_contract import SERVER, Change, Commands, Host, Scope, Where
from holdfast.agent_kit.json_config import JsonFile, followed, host_file, leads_elsewhere
from holdfast.agent_kit.slash_commands import NAME, Plugin, as_commands, claude_markdown, marketplace, quoted

# Seconds until the host gives up on a hook. Ours end after 3; an end without a time is cancelled early.
TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "PreToolUse": 5,
    "Stop": 5,
    "PreCompact": 5,
    "SessionEnd": 10,
}
LINE = "statusLine"
LOCAL = "settings.local.json"


class ClaudeCode(json_hooks.HookHost):
    agent = "claude-code"
    title = "Claude Code"
    timeouts = TIMEOUTS
    matchers: Mapping[str, str] = {"PreToolUse": "Bash|AskUserQuestion|Read|Edit|Write"}
    earlier: Mapping[str, str] = {"PreToolUse": "Bash|AskUserQuestion"}
    shared = False

    def folder(self, where: Where) -> Path:
        return where.folder("CLAUDE_CONFIG_DIR", ".claude")

    def hooks(self, where: Where, scope: Scope) -> JsonFile:
        return self.file(where, scope, "settings.json", f".claude/{LOCAL}")

    def tools(self, where: Where, scope: Scope) -> JsonFile:
        return host_file(where, "user", where.folder("CLAUDE_CONFIG_DIR") / ".claude.json", self.title)

    def server(self, where: Where) -> dict[str, Any]:
        """Without `alwaysLoad` the tools are hidden behind a search for tools."""
        return {"type": "stdio", **where.server_entry, "alwaysLoad": True}

    def keys(self, where: Where, scope: Scope) -> tuple[str, ...]:
        project_keys = ("projects", str(where.project)) if scope == "project" else ()
        return (*project_keys, "mcpServers", SERVER)

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks, *tools = super().install(where, scope)
        return (self._with_line(where, scope, hooks), *tools)

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks, tools = super().uninstall(where, scope)
        return _without_line(self.hooks(where, scope), hooks), tools

    def also_wrong(self, where: Where, settings: Mapping[str, Any]) -> tuple[str, ...]:
        line = settings.get(LINE)
        return (LINE,) if is_our_line(line) and line != status_line(where.interpreter) else ()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        if where.status_line and (settings_path := self._another_line(where, scope)):
            return (
                f"{settings_path} already has a status line, which stays. To use holdfast's: holdfast statusline",
            )
        return ()

    def commands(self, where: Where) -> Commands:
        return self.folder(where), "md", claude_markdown

    def plugin(self, where: Where, folder: Path) -> Plugin:
        server = self.server(where) if where.server else {}
        return Plugin(
            files=marketplace(where, self.entries(where.interpreter), server, as_commands),
            commands=(
                f"claude plugin marketplace add {quoted(folder)}",
                f"claude plugin install {NAME}@{NAME}",
            ),
            update=f"claude plugin marketplace update {NAME} && claude plugin update {NAME}@{NAME}",
        )

    def _with_line(self, where: Where, scope: Scope, hooks: Change) -> Change:
        """Adds our status line where it is wanted and no other exists, or updates an old one of ours."""
        settings = self.hooks(where, scope)
        text = settings.text(hooks.after)
        existing = settings.at(text, (LINE,))
        free = where.status_line and not self._another_line(where, scope)
        wanted = status_line(where.interpreter)
        if existing == wanted or not (free or is_our_line(existing)):
            return hooks
        return settings.change(hooks.before, settings.with_member(text, (LINE,), wanted))

    def _another_line(self, where: Where, scope: Scope) -> Path | None:
        """The file with a status line that is not ours, which ours would replace or hide."""
        places: list[Path] = [followed(self.folder(where) / "settings.json")]
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


HOST: Host = ClaudeCode()


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
