"""Plugins: hooks, tools, commands and a skill as one folder that a person adds in the agent itself.

Claude Code, Codex and Copilot CLI take the same layout, a marketplace with one plugin in it; Gemini CLI takes an
extension. Each folder is made for one agent on this machine: the interpreter is named in full in it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from holdfast import __version__
from holdfast.agents import slash_commands as slash
from holdfast.agents.claude_code import host as claude_code
from holdfast.agents.codex import host as codex
from holdfast.agents.copilot import host as copilot
from holdfast.agents.gemini import host as gemini
from holdfast.agents.gemini.host import GeminiFamily
from holdfast.agents.host_contract import SERVER, Where

NAME = "holdfast"
ABOUT = "Memory that every coding agent shares: what earlier sessions did, decided and learned."
PLUGGED = "plugin"  # the last word of a plugin's hooks: they are silent where the settings have ours as well
ALWAYS = " || true"
FOLDER = f"plugins/{NAME}"


class Plugin(Struct, frozen=True, kw_only=True):
    """`files` by their path in the folder; `commands` add it in the agent, `update` takes a new one over."""

    agent: str
    title: str
    files: dict[str, bytes]
    commands: tuple[str, ...]
    update: str
    needs: tuple[str, ...] = ()


def claude_plugin(where: Where, folder: Path) -> Plugin:
    hooks = _plugged(claude_code.entries(where.interpreter))
    server = claude_code.server(where) if where.server else {}
    return Plugin(
        agent="claude-code",
        title="Claude Code",
        files=_marketplace(where, hooks, server, _as_commands),
        commands=(f"claude plugin marketplace add {_quoted(folder)}", f"claude plugin install {NAME}@{NAME}"),
        update=f"claude plugin marketplace update {NAME} && claude plugin update {NAME}@{NAME}",
    )


def codex_plugin(where: Where, folder: Path) -> Plugin:
    hooks = _plugged(codex.entries(where.interpreter))
    server = codex.server(where) if where.server else {}
    return Plugin(
        agent="codex",
        title="Codex",
        files=_marketplace(where, hooks, server, _as_skills),
        commands=(f"codex plugin marketplace add {_quoted(folder)}", f"codex plugin add {NAME}@{NAME}"),
        update=f"codex plugin remove {NAME}@{NAME} && codex plugin add {NAME}@{NAME}",
        needs=(codex.TRUST,),
    )


def copilot_plugin(where: Where, folder: Path) -> Plugin:
    hooks = _plugged(copilot.entries(where.interpreter))
    # It starts a plugin's server in the plugin's folder, and puts variables in: the shell's says where the person is.
    server = {**copilot.server(where), "cwd": "${PWD}"} if where.server else {}
    return Plugin(
        agent="copilot",
        title="GitHub Copilot CLI",
        files=_marketplace(where, hooks, server, _as_skills),
        commands=(
            f"copilot plugin marketplace add {_quoted(folder)}",
            f"copilot plugin install {NAME}@{NAME}",
        ),
        update="",
    )


def gemini_plugin(where: Where, folder: Path) -> Plugin:
    host = cast(GeminiFamily, gemini.HOST)
    manifest: dict[str, Any] = {"name": NAME, "version": __version__, "description": ABOUT}
    if where.server:
        manifest["mcpServers"] = {SERVER: host.server(where, {})}
    hooks = _plugged(host.entries(where.interpreter))
    holdfast = slash.program(where.interpreter)
    return Plugin(
        agent="gemini",
        title="Gemini CLI",
        files={
            "gemini-extension.json": _json(manifest),
            "hooks/hooks.json": _json({"hooks": hooks}),
            **{
                f"commands/{NAME}/{one.name}.toml": slash.gemini_toml(one, holdfast).encode()
                for one in slash.COMMANDS
            },
            f"skills/{slash.SKILL_NAME}/SKILL.md": slash.skill_markdown(holdfast).encode(),
        },
        commands=(f"gemini extensions link {_quoted(folder)}",),
        update="",
    )


PLUGINS: Mapping[str, Callable[[Where, Path], Plugin]] = {
    "claude-code": claude_plugin,
    "codex": codex_plugin,
    "copilot": copilot_plugin,
    "gemini": gemini_plugin,
}


def _marketplace(
    where: Where,
    hooks: Mapping[str, Any],
    server: Mapping[str, Any],
    commands: Callable[[str], dict[str, bytes]],
) -> dict[str, bytes]:
    """The layout of Claude Code: a marketplace beside the one plugin that it offers."""
    holdfast = slash.program(where.interpreter)
    about = {"name": NAME, "version": __version__, "description": ABOUT}
    market = {
        "name": NAME,
        "owner": {"name": NAME},
        "description": ABOUT,
        "plugins": [{**about, "source": f"./{FOLDER}"}],
    }
    plugin = {
        ".claude-plugin/plugin.json": _json({**about, "author": {"name": NAME}}),
        "hooks/hooks.json": _json({"description": "memory in, memory out", "hooks": hooks}),
        **({".mcp.json": _json({"mcpServers": {SERVER: server}})} if server else {}),
        **commands(holdfast),
        f"skills/{slash.SKILL_NAME}/SKILL.md": slash.skill_markdown(holdfast).encode(),
    }
    return {
        ".claude-plugin/marketplace.json": _json(market),
        **{f"{FOLDER}/{name}": data for name, data in plugin.items()},
    }


def _as_commands(holdfast: str) -> dict[str, bytes]:
    return {
        f"commands/{one.name}.md": slash.claude_markdown(one, holdfast).encode() for one in slash.COMMANDS
    }


def _as_skills(holdfast: str) -> dict[str, bytes]:
    """Codex makes skills of a plugin's commands if these take nothing, Copilot makes nothing of them."""
    return {
        f"skills/{one.name}/SKILL.md": slash.command_skill(one, holdfast).encode() for one in slash.COMMANDS
    }


def _plugged(groups: Mapping[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Hooks that say of themselves that a plugin brought them."""
    return {
        event: [
            {**group, "hooks": [{**hook, "command": _marked(hook["command"])} for hook in group["hooks"]]}
        ]
        for event, group in groups.items()
    }


def _marked(command: str) -> str:
    return f"{command.removesuffix(ALWAYS)} {PLUGGED}{ALWAYS}"


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"


def _quoted(folder: Path) -> str:
    return shlex.quote(str(folder))
