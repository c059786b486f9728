"""Gemini CLI, and what its fork Qwen Code shares with it: hooks and tools in one `settings.json`.

`~/.gemini/settings.json` is the user's; `.gemini/settings.json` belongs to a repository, which may share it in git.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.agent_kit import json_hooks
from holdfast.agent_kit import slash_commands as slash
from holdfast.agent_kit.host_contract import SERVER, Change, Commands, Host, Scope, Where
from holdfast.agent_kit.json_config import JsonFile, followed
from holdfast.agent_kit.json_hooks import keep_out_of_git
from holdfast.core.json_text import parse

KEYS = ("mcpServers", SERVER)
TRUSTED = ("TRUST_FOLDER", "TRUST_PARENT")


class Gemini(json_hooks.HookHost):
    """`own` is the folder in a repository, `beside` what the entry of our tools needs besides the command, `asks`
    whether the client asks about folders by default.
    """

    agent = "gemini"
    title = "Gemini CLI"
    own = ".gemini"
    # Milliseconds. PreCompress comes before every request, so it is not listened to.
    timeouts: Mapping[str, int] = {
        "SessionStart": 5_000,
        "BeforeAgent": 5_000,
        "BeforeTool": 5_000,
        "AfterTool": 5_000,
        "AfterAgent": 5_000,
        "SessionEnd": 10_000,
    }
    # What a hook says before a tool runs does not reach the model; it can change what is asked, and that a person sees.
    matchers: Mapping[str, str] = {
        "BeforeTool": "^ask_user$",
        "AfterTool": "^(run_shell_command|ask_user|read_file|replace|write_file)$",
    }
    earlier: Mapping[str, str] = {"AfterTool": "^(run_shell_command|ask_user)$"}
    beside: Mapping[str, Any] = {}
    asks = True

    def folder(self, where: Where) -> Path:
        return where.folder("GEMINI_CLI_HOME") / ".gemini"

    def hooks(self, where: Where, scope: Scope) -> JsonFile:
        return self.file(where, scope, "settings.json", f"{self.own}/settings.json", comments=True)

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        """Both in one file, so both in one change."""
        file = self.hooks(where, scope)
        self.refuse(where, scope, file.path)
        hooks = self.with_hooks(file, self.entries(where.interpreter))
        if not where.server:
            return (hooks,)
        text = file.text(hooks.after)
        existing = file.at(text, KEYS)
        # Whether our tools run unasked (`trust`) is a person's to say.
        wanted = {
            **self.server(where),
            **(existing if isinstance(existing, dict) else {}),
            **where.server_entry,
        }
        return (
            hooks if existing == wanted else file.change(hooks.before, file.with_member(text, KEYS, wanted)),
        )

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        file = self.hooks(where, scope)
        data = file.data()
        if data is None or not (json_hooks.mentioned(data) or f'"{SERVER}"'.encode() in data):
            return (file.unchanged(data),)
        text = json_hooks.without_groups(file, file.text(data))
        return (file.change(data, file.without_member(text, KEYS)),)

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        shared = keep_out_of_git(where, f"{self.own}/settings.json") if scope == "project" else ()
        settings = _read(where, followed(self.folder(where) / "settings.json"))
        return (*shared, *_switched_on(settings), *self._trusted(where, settings))

    def entries(self, interpreter: str) -> dict[str, dict[str, Any]]:
        """With a name, which the client shows while a hook runs, in the place of its whole command."""
        groups = super().entries(interpreter)
        for group in groups.values():
            group["hooks"] = [{"name": SERVER, **hook} for hook in group["hooks"]]
        return groups

    def server(self, where: Where) -> dict[str, Any]:
        return {**where.server_entry, **self.beside}

    def commands(self, where: Where) -> Commands:
        return self.folder(where), "toml", slash.gemini_toml

    def plugin(self, where: Where, folder: Path) -> slash.Plugin:
        manifest: dict[str, Any] = {"name": slash.NAME, "version": __version__, "description": slash.ABOUT}
        if where.server:
            manifest["mcpServers"] = {SERVER: self.server(where)}
        holdfast = slash.program(where.interpreter)
        return slash.Plugin(
            files={
                "gemini-extension.json": slash.as_json(manifest),
                "hooks/hooks.json": slash.as_json({"hooks": slash.plugged(self.entries(where.interpreter))}),
                **{
                    f"commands/{slash.NAME}/{command.name}.toml": slash.gemini_toml(
                        command, holdfast
                    ).encode()
                    for command in slash.COMMANDS
                },
                f"skills/{slash.SKILL_NAME}/SKILL.md": slash.skill_markdown(holdfast).encode(),
            },
            commands=(f"gemini extensions link {slash.quoted(folder)}",),
        )

    def _trusted(self, where: Where, settings: dict[str, Any]) -> tuple[str, ...]:
        """In a folder that is not trusted the client runs neither hooks nor servers."""
        asks = _at(settings, "security", "folderTrust", "enabled")
        if asks is False or (asks is not True and not self.asks):
            return ()
        rules = _read(where, self.folder(where) / "trustedFolders.json")
        if any(_covers(where.project, rule, level) for rule, level in rules.items()):
            return ()
        return (
            f"{self.title} runs hooks and tools only in folders that you trust: agree when it asks you, or use "
            "/permissions there.",
        )


HOST: Host = Gemini()


def _switched_on(settings: dict[str, Any]) -> tuple[str, ...]:
    """What to change where all hooks are switched off, or only some servers may run."""
    needs = []
    if _at(settings, "hooksConfig", "enabled") is False:
        needs.append("Hooks are switched off in your settings: remove hooksConfig.enabled.")
    if settings.get("disableAllHooks") is True:
        needs.append("Hooks are switched off in your settings: remove disableAllHooks.")
    allowed, excluded = _at(settings, "mcp", "allowed"), _at(settings, "mcp", "excluded")
    if isinstance(allowed, list) and SERVER not in allowed:
        needs.append(f"Only some servers are allowed in your settings: add {SERVER} to mcp.allowed.")
    if isinstance(excluded, list) and SERVER in excluded:
        needs.append(f"holdfast's tools are excluded in your settings: remove {SERVER} from mcp.excluded.")
    return tuple(needs)


def _read(where: Where, path: Path) -> dict[str, Any]:
    """What one of the client's own files says; nothing where it cannot be read."""
    try:
        data = where.read(path)
        value = parse((data or b"{}").decode("utf-8-sig"), comments=True).value
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _covers(project: Path, rule: str, level: object) -> bool:
    folder = Path(rule).parent if level == "TRUST_PARENT" else Path(rule)
    return level in TRUSTED and project.is_relative_to(folder)
