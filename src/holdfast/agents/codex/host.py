"""Codex: hooks in `hooks.json`, tools in `config.toml`, both in `~/.codex` or, for one repository, in its `.codex`.

Codex runs a hook only after its person has trusted it, and asks again when its text has changed: keep it as it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.agents import json_hooks, toml_config
from holdfast.agents.host_contract import SERVER, Change, Host, Scope, Where, Wired
from holdfast.agents.json_config import FIX, JsonFile, followed, leads_elsewhere
from holdfast.agents.json_hooks import keep_out_of_git, refuse_tracked
from holdfast.core.errors import ConfigError

# Seconds until the host gives up on a hook. It gives an end no more than 3.
TIMEOUTS = {
    "SessionStart": 5,
    "UserPromptSubmit": 5,
    "PreToolUse": 5,
    "Stop": 5,
    "PreCompact": 5,
    "SessionEnd": 3,
}
# Calls of other tools start no process of ours.
MATCHERS = {"PreToolUse": "Bash|request_user_input"}
KEYS = ("mcp_servers", SERVER)
TRUST = (
    "Codex runs only hooks that you trust: start codex, which asks about new ones (later: /hooks). "
    "Until then ours do nothing, and codex exec does not say so."
)
REQUIRED = (
    "{}: required = true keeps Codex from starting should holdfast's Python ever be gone. "
    "Take that line out, unless you want our tools in the first request of codex exec."
)
TRUSTED_PROJECT = "Codex reads .codex in a project that you trust: start codex here once and say yes."


class Codex:
    agent = "codex"
    title = "Codex"

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks = self._hooks(where, scope)
        refuse_tracked(where, scope, hooks.path)
        changes = [json_hooks.installed(hooks, hooks.data(), entries(where.interpreter))]
        if where.server:
            refuse_tracked(where, scope, self._tool_path(where, scope))
            changes.append(self._with_tools(where, scope))
        return tuple(changes)

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks, tools = self._hooks(where, scope), self._tool_path(where, scope)
        data = None if leads_elsewhere(where, tools, scope) else where.read(tools)
        change = Change(path=tools, before=data, after=data)
        if data is not None and b"holdfast" in data:
            text = _text(tools, data)
            less = toml_config.without_table(text, KEYS)
            if _at(_parsed(tools, less)) is None:  # whoever wrote it otherwise takes it out as well
                change = _change(tools, data, less)
        return json_hooks.uninstalled(hooks, hooks.data()), change

    def status(self, where: Where, scope: Scope) -> Wired:
        return json_hooks.wired(self.agent, scope, self._hooks(where, scope), entries(where.interpreter))

    def found(self, where: Where) -> bool:
        return _folder(where, "user").is_dir()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        waits = self._waits(where, scope)
        if scope == "user":
            return (TRUST, *waits)
        local = keep_out_of_git(where, ".codex/hooks.json", ".codex/config.toml")
        return (TRUSTED_PROJECT, TRUST, *waits, *local)

    def _waits(self, where: Where, scope: Scope) -> tuple[str, ...]:
        """An entry that an older holdfast wrote, or a person: which of the two cannot be told."""
        path = self._tool_path(where, scope)
        try:
            entry = _at(tomllib.loads(_text(path, where.read(path) or b"")))
        except (ConfigError, tomllib.TOMLDecodeError, RecursionError):
            return ()  # said where it is to be written
        return (REQUIRED.format(path),) if isinstance(entry, dict) and entry.get("required") is True else ()

    def _hooks(self, where: Where, scope: Scope) -> JsonFile:
        path = _folder(where, scope) / "hooks.json"
        if scope == "user":
            path = followed(path)
        return JsonFile(where=where, path=path, title=self.title, linked=leads_elsewhere(where, path, scope))

    def _tool_path(self, where: Where, scope: Scope) -> Path:
        path = _folder(where, scope) / "config.toml"
        return followed(path) if scope == "user" else path

    def _with_tools(self, where: Where, scope: Scope) -> Change:
        path = self._tool_path(where, scope)
        if leads_elsewhere(where, path, scope):
            raise _error(path, "is a link, and what a repository links to is not followed")
        data = where.read(path)
        text = _text(path, data or b"")
        before, wanted = _parsed(path, text), server(where)
        if _fits(_at(before), wanted):
            return Change(path=path, before=data, after=data)
        kept = _kept(_at(before), wanted)
        simple = {name: value for name, value in kept.items() if not isinstance(value, dict)}
        # With what a person set there, and the tables below it; where that cannot be said as text, ours alone.
        for added, said in (
            (toml_config.with_table(toml_config.without_table(text, KEYS, below=False), KEYS, simple), kept),
            (toml_config.with_table(toml_config.without_table(text, KEYS), KEYS, wanted), wanted),
        ):
            try:
                if tomllib.loads(added) == _with(before, said):
                    return _change(path, data, added)
            except tomllib.TOMLDecodeError:
                continue
        problem = "mcp_servers is written in a way that no table can be added to"
        raise _error(path, problem, fix=f"Write it as [{'.'.join(KEYS[:1])}.NAME] tables, or --no-mcp")


HOST: Host = Codex()


def entries(interpreter: str) -> dict[str, dict[str, Any]]:
    """One hook for each event, as Codex wants it."""
    return json_hooks.groups(interpreter, Codex.agent, TIMEOUTS, MATCHERS)


def server(where: Where) -> dict[str, Any]:
    """The tools. Not `required`: Codex would not start at all where our Python is gone (docs/adr/0012).

    It hands on a few variables only, so ours has to be named.
    """
    program, *words = where.server
    values: dict[str, Any] = {"command": program, "args": words}
    if where.env.get("HOLDFAST_HOME"):
        values["env_vars"] = ["HOLDFAST_HOME"]
    return values


def _fits(found: object, wanted: Mapping[str, Any]) -> bool:
    """What else a person says of our tools, such as how long to wait for them, is theirs to say."""
    return isinstance(found, dict) and all(found.get(name) == value for name, value in wanted.items())


def _kept(found: object, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Our entry with what a person set there, as far as that can be written again."""
    theirs = found if isinstance(found, dict) and "command" in found else {}
    known = {
        name: value
        for name, value in theirs.items()
        if isinstance(value, str | bool | int | float | dict)
        or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    }
    return {**wanted, **known, **wanted}


def _with(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    servers = value.get(KEYS[0], {})
    return {**value, KEYS[0]: {**servers, SERVER: wanted}} if isinstance(servers, dict) else {}


def _at(value: Mapping[str, Any]) -> object:
    servers = value.get(KEYS[0])
    return servers.get(SERVER) if isinstance(servers, dict) else None


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise _error(path, "is not UTF-8") from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _error(path, f"is not valid TOML: {error}") from error


def _change(path: Path, data: bytes | None, text: str) -> Change:
    mark = b"\xef\xbb\xbf" if data is not None and data.startswith(b"\xef\xbb\xbf") else b""
    return Change(path=path, before=data, after=mark + text.encode())


def _error(path: Path, problem: str, fix: str = FIX) -> ConfigError:
    return ConfigError(problem, where=str(path), fix=fix)


def _folder(where: Where, scope: Scope) -> Path:
    if scope == "project":
        return where.project / ".codex"
    configured = where.env.get("CODEX_HOME")
    return (Path(configured).expanduser() if configured else where.home / ".codex").absolute()
