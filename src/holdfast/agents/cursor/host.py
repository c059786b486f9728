"""Cursor: hooks in `hooks.json`, tools in `mcp.json`, both in `~/.cursor` or, for one repository, in its `.cursor`.

Made from its documentation: nobody has seen this run yet. What a hook for prompts says does not reach the model by
that documentation, so there is none. How long a hook may take is left to Cursor: ours end after 3 seconds.
"""

from __future__ import annotations

from typing import Any

from holdfast.agents import json_hooks
from holdfast.agents.host_contract import SERVER, Change, Host, Scope, Where, Wired
from holdfast.agents.json_config import JsonFile, followed, kept, leads_elsewhere
from holdfast.agents.json_hooks import keep_out_of_git, refuse_tracked

EVENTS = ("sessionStart", "postToolUse", "stop", "preCompact", "sessionEnd")
# Calls of other tools start no process of ours.
MATCHERS = {"postToolUse": "Shell"}
HOOKS, SERVERS = "hooks.json", "mcp.json"
KEYS = ("mcpServers", SERVER)
VERSION = ("version",)
EMPTY = '{\n  "version": 1\n}\n'
LOOK = (
    "Made from Cursor's documentation and not yet seen running: look whether its settings list holdfast "
    "under Hooks and under Tools & MCP."
)


class Cursor:
    agent = "cursor"
    title = "Cursor"

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks, tools = self._file(where, scope, HOOKS), self._file(where, scope, SERVERS)
        refuse_tracked(where, scope, hooks.path)
        changes = [_with_hooks(hooks, entries(where.interpreter))]
        if where.server:
            refuse_tracked(where, scope, tools.path)
            changes.append(_with_server(tools, server(where)))
        return tuple(changes)

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks, tools = self._file(where, scope, HOOKS), self._file(where, scope, SERVERS)
        data = tools.data()
        change = tools.unchanged(data)
        if data is not None and b"holdfast" in data and tools.at(tools.text(data), KEYS) is not None:
            change = tools.change(data, tools.without_member(tools.text(data), KEYS))
        return json_hooks.uninstalled(hooks, hooks.data()), change

    def status(self, where: Where, scope: Scope) -> Wired:
        return json_hooks.wired(
            self.agent, scope, self._file(where, scope, HOOKS), entries(where.interpreter)
        )

    def found(self, where: Where) -> bool:
        return (where.home / ".cursor").is_dir()

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        if scope == "user":
            return (LOOK,)
        return (LOOK, *keep_out_of_git(where, f".cursor/{HOOKS}", f".cursor/{SERVERS}"))

    def _file(self, where: Where, scope: Scope, name: str) -> JsonFile:
        if scope == "project":
            path = where.project / ".cursor" / name
        else:
            path = followed(where.home / ".cursor" / name)
        return JsonFile(where=where, path=path, title=self.title, linked=leads_elsewhere(where, path, scope))


HOST: Host = Cursor()


def entries(interpreter: str) -> dict[str, dict[str, Any]]:
    """One hook for each event, as Cursor wants it: no groups."""
    return {
        event: {
            "command": json_hooks.command(interpreter, Cursor.agent, event),
            **({"matcher": MATCHERS[event]} if event in MATCHERS else {}),
        }
        for event in EVENTS
    }


def server(where: Where) -> dict[str, Any]:
    program, *words = where.server
    return {"type": "stdio", "command": program, "args": words}


def _with_hooks(file: JsonFile, wanted: json_hooks.Groups) -> Change:
    """Cursor reads no hooks from a file that does not say which version it is."""
    data = file.data()
    if data is None and not file.linked:
        return file.change(None, json_hooks.with_groups(file, EMPTY, wanted))
    change = json_hooks.installed(file, data, wanted)
    text = file.text(change.after)
    if file.at(text, VERSION) is not None:
        return change
    return file.change(data, file.with_member(text, VERSION, 1))


def _with_server(file: JsonFile, wanted: dict[str, Any]) -> Change:
    data = file.data()
    text = file.text(data)
    known = file.at(text, KEYS)
    wanted = kept(known, wanted, "type", "command", "args")
    if known == wanted:
        return file.unchanged(data)
    return file.change(data, file.with_member(text, KEYS, wanted))
