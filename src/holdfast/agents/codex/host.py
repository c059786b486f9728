"""Codex: hooks in `hooks.json`, tools in `config.toml`, both in `~/.codex` or, for one repository, in its `.codex`.

Codex runs a hook only after its person has trusted it, and asks again when its text has changed: keep it as it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.agent_kit import toml_config
from holdfast.agent_kit.host_contract import SERVER, Change, Host, Scope, Where
from holdfast.agent_kit.json_config import FIX, JsonFile, followed, leads_elsewhere
from holdfast.agent_kit.json_hooks import HookHost, keep_out_of_git
from holdfast.agent_kit.slash_commands import NAME, Plugin, as_skills, marketplace, quoted
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
    "Codex runs only hooks you trust: start codex, which asks about new ones (later: /hooks). "
    "Until then, holdfast's hooks do nothing; codex exec skips them silently."
)
REQUIRED = (
    "{}: required = true keeps Codex from starting should holdfast's Python ever be gone. "
    "Remove that line, unless you want holdfast's tools in the first request of codex exec."
)
TRUSTED_PROJECT = "Codex reads .codex only in projects you trust: start codex here once and agree."


class Codex(HookHost):
    agent = "codex"
    title = "Codex"
    timeouts = TIMEOUTS
    matchers = MATCHERS

    def folder(self, where: Where) -> Path:
        return where.folder("CODEX_HOME", ".codex")

    def hooks(self, where: Where, scope: Scope) -> JsonFile:
        return self.file(where, scope, "hooks.json", ".codex/hooks.json")

    def server(self, where: Where) -> dict[str, Any]:
        """The tools. Not `required`: Codex would not start at all where our Python is gone (docs/adr/0012).

        It hands on a few variables only, so ours has to be named.
        """
        moved = {"env_vars": ["HOLDFAST_HOME"]} if where.env.get("HOLDFAST_HOME") else {}
        return {**where.server_entry, **moved}

    def plugin(self, where: Where, folder: Path) -> Plugin:
        server = self.server(where) if where.server else {}
        return Plugin(
            files=marketplace(where, self.entries(where.interpreter), server, as_skills),
            commands=(f"codex plugin marketplace add {quoted(folder)}", f"codex plugin add {NAME}@{NAME}"),
            update=f"codex plugin remove {NAME}@{NAME} && codex plugin add {NAME}@{NAME}",
            needs=(TRUST,),
        )

    def without_tools(self, where: Where, scope: Scope) -> Change:
        tools = self._tool_path(where, scope)
        data = None if leads_elsewhere(where, tools, scope) else where.read(tools)
        if data is not None and b"holdfast" in data:
            less = toml_config.without_table(_text(tools, data), KEYS)
            if _at(_parsed(tools, less)) is None:  # an entry in another notation is its author's to remove
                return _change(tools, data, less)
        return Change(path=tools, before=data, after=data)

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

    def _tool_path(self, where: Where, scope: Scope) -> Path:
        if scope == "project":
            return where.project / ".codex" / "config.toml"
        return followed(self.folder(where) / "config.toml")

    def with_tools(self, where: Where, scope: Scope) -> Change:
        path = self._tool_path(where, scope)
        self.refuse(where, scope, path)
        if leads_elsewhere(where, path, scope):
            raise _error(path, "is a link, and links in a repository are not followed")
        data = where.read(path)
        text = _text(path, data or b"")
        before, wanted = _parsed(path, text), self.server(where)
        if _fits(_at(before), wanted):
            return Change(path=path, before=data, after=data)
        kept = _kept(_at(before), wanted)
        simple = {name: value for name, value in kept.items() if not isinstance(value, dict)}
        # With what a person set there, and the tables below it; where that cannot be said as text, ours alone.
        for added, entry in (
            (toml_config.with_table(toml_config.without_table(text, KEYS, below=False), KEYS, simple), kept),
            (toml_config.with_table(toml_config.without_table(text, KEYS), KEYS, wanted), wanted),
        ):
            try:
                if tomllib.loads(added) == _with(before, entry):
                    return _change(path, data, added)
            except tomllib.TOMLDecodeError:
                continue
        problem = "mcp_servers is written in a form that holdfast cannot extend"
        raise _error(path, problem, fix=f"Write it as [{'.'.join(KEYS[:1])}.NAME] tables, or --no-mcp")


HOST: Host = Codex()


def _fits(found: object, wanted: Mapping[str, Any]) -> bool:
    """What else a person says of our tools, such as how long to wait for them, is theirs to say."""
    return isinstance(found, dict) and all(found.get(name) == value for name, value in wanted.items())


def _kept(found: object, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Our entry with what a person set there, as far as that can be written again."""
    theirs = found if isinstance(found, dict) and "command" in found else {}
    existing = {
        name: value
        for name, value in theirs.items()
        if isinstance(value, str | bool | int | float | dict)
        or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    }
    return {**wanted, **existing, **wanted}


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
