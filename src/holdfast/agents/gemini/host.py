"""Gemini CLI, and what its fork Qwen Code shares with it: hooks and tools in one `settings.json`.

`~/.gemini/settings.json` is the user's; `.gemini/settings.json` belongs to a repository, which may share it in git.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from holdfast.agents import json_hooks
from holdfast.agents.host_contract import SERVER, Change, Host, Scope, Where, Wired
from holdfast.agents.json_config import JsonFile, followed, leads_elsewhere, parse
from holdfast.agents.json_hooks import keep_out_of_git, refuse_tracked

KEYS = ("mcpServers", SERVER)
TRUSTED = ("TRUST_FOLDER", "TRUST_PARENT")


class GeminiFamily:
    """One client of the family.

    `folder` is its own in a repository, `home` the user's. `timeouts` say how long the host waits for a hook, in its
    own unit; ours end after 3 seconds. Calls of tools other than `matchers` name start no process of ours.
    `server` is what its entry of our tools needs besides the command, `asks` whether it asks about folders unless it
    is told not to.
    """

    def __init__(
        self,
        agent: str,
        title: str,
        *,
        folder: str,
        home: Callable[[Where], Path],
        timeouts: Mapping[str, int],
        matchers: Mapping[str, str],
        server: Mapping[str, Any],
        asks: bool,
    ) -> None:
        self.agent, self.title = agent, title
        self._folder, self._home = folder, home
        self._timeouts, self._matchers = timeouts, matchers
        self._server, self._asks = server, asks

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        """Both in one file, so both in one change."""
        file = self._settings(where, scope)
        refuse_tracked(where, scope, file.path)
        data = file.data()
        hooks = json_hooks.installed(file, data, self.entries(where.interpreter))
        if not where.server:
            return (hooks,)
        text = file.text(hooks.after)
        known = file.at(text, KEYS)
        wanted = self.server(where, known if isinstance(known, dict) else {})
        if known == wanted:
            return (hooks,)
        return (file.change(data, file.with_member(text, KEYS, wanted)),)

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        file = self._settings(where, scope)
        data = file.data()
        if data is None or not (json_hooks.mentioned(data) or f'"{SERVER}"'.encode() in data):
            return (file.unchanged(data),)
        text = json_hooks.without_groups(file, file.text(data))
        return (file.change(data, file.without_member(text, KEYS)),)

    def status(self, where: Where, scope: Scope) -> Wired:
        return json_hooks.wired(
            self.agent, scope, self._settings(where, scope), self.entries(where.interpreter)
        )

    def found(self, where: Where) -> bool:
        return self._home(where).is_dir()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        shared = keep_out_of_git(where, f"{self._folder}/settings.json") if scope == "project" else ()
        settings = _read(where, followed(self._home(where) / "settings.json"))
        return (*shared, *_switched_on(settings), *self._trusted(where, settings))

    def entries(self, interpreter: str) -> dict[str, dict[str, Any]]:
        """With a name, which the client shows while a hook runs, in the place of its whole command."""
        found = json_hooks.groups(interpreter, self.agent, self._timeouts, self._matchers)
        for group in found.values():
            group["hooks"] = [{"name": SERVER, **hook} for hook in group["hooks"]]
        return found

    def server(self, where: Where, known: Mapping[str, Any]) -> dict[str, Any]:
        """The entry of our tools, with what a person set there: whether they run unasked (`trust`) is theirs to say."""
        program, *words = where.server
        ours = {"command": program, "args": words}
        return {**ours, **self._server, **known, **ours}

    def _settings(self, where: Where, scope: Scope) -> JsonFile:
        if scope == "project":
            path = where.project / self._folder / "settings.json"
        else:
            path = followed(self._home(where) / "settings.json")
        linked = leads_elsewhere(where, path, scope)
        return JsonFile(where=where, path=path, title=self.title, comments=True, linked=linked)

    def _trusted(self, where: Where, settings: dict[str, Any]) -> tuple[str, ...]:
        """In a folder that is not trusted the client runs neither hooks nor servers."""
        asks = _at(settings, "security", "folderTrust", "enabled")
        if asks is False or (asks is not True and not self._asks):
            return ()
        rules = _read(where, self._home(where) / "trustedFolders.json")
        if any(_covers(where.project, rule, level) for rule, level in rules.items()):
            return ()
        return (
            f"{self.title} runs hooks and tools only in folders that you trust: answer so when it asks you, "
            "or use /permissions there.",
        )


def home_of(where: Where) -> Path:
    moved = where.env.get("GEMINI_CLI_HOME")
    return (Path(moved) if moved else where.home).absolute() / ".gemini"


# What a hook says before a tool runs does not reach the model; it can change what is asked, and that a person sees.
# PreCompress comes before every request, so it is not listened to.
HOST: Host = GeminiFamily(
    "gemini",
    "Gemini CLI",
    folder=".gemini",
    home=home_of,
    timeouts={  # milliseconds
        "SessionStart": 5_000,
        "BeforeAgent": 5_000,
        "BeforeTool": 5_000,
        "AfterTool": 5_000,
        "AfterAgent": 5_000,
        "SessionEnd": 10_000,
    },
    matchers={"BeforeTool": "^ask_user$", "AfterTool": "^(run_shell_command|ask_user)$"},
    server={},
    asks=True,
)


def _switched_on(settings: dict[str, Any]) -> tuple[str, ...]:
    """What somebody has to change who switched off all hooks, or named the servers that may run."""
    needs = []
    if _at(settings, "hooksConfig", "enabled") is False:
        needs.append("Hooks are switched off in your settings: take out hooksConfig.enabled.")
    if settings.get("disableAllHooks") is True:
        needs.append("Hooks are switched off in your settings: take out disableAllHooks.")
    allowed, excluded = _at(settings, "mcp", "allowed"), _at(settings, "mcp", "excluded")
    if isinstance(allowed, list) and SERVER not in allowed:
        needs.append(f"Only some servers are allowed in your settings: add {SERVER} to mcp.allowed.")
    if isinstance(excluded, list) and SERVER in excluded:
        needs.append(f"Our tools are excluded in your settings: take {SERVER} out of mcp.excluded.")
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
