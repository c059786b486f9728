"""Hooks as Claude Code writes them, and with it Codex, Gemini CLI and Qwen Code: events, groups, commands.

{"hooks": {EVENT: [{"matcher": "…", "hooks": [{"type": "command", "command": "…", "timeout": 5}]}]}}
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from holdfast.agent_kit.host_contract import SERVER, BaseHost, Change, Scope, Where, Wired
from holdfast.agent_kit.json_config import JsonFile, host_file
from holdfast.core.errors import ConfigError
from holdfast.core.git import git_text
from holdfast.core.json_text import append, member, remove
from holdfast.core.patterns import lazy_regex

Groups = Mapping[str, dict[str, Any]]
"""For each event the one group that is ours."""

# Installed hosts name this path, so it must not move.
SCRIPT = str(Path(__file__).absolute().parents[1] / "hot" / "hook_entry.py")
OURS = lazy_regex(r"holdfast[/\\]+hot[/\\]+hook_entry\.py\b")


def command(interpreter: str, *words: str) -> str:
    """Return the command that a host runs. It has the full path of the interpreter, because a shim costs 300 ms."""
    script = SCRIPT
    if os.name == "nt":  # hosts run hooks with the shell of Git for Windows
        interpreter, script = interpreter.replace("\\", "/"), script.replace("\\", "/")
    parts = [interpreter, "-I", "-S", script, *words]
    # Python ends with 2 when the script is gone (holdfast was removed and its hooks were not), and to Claude Code
    # a 2 means that the prompt is refused.
    return " ".join(shlex.quote(part) for part in parts) + " || true"


def mentioned(data: bytes | None) -> bool:
    """Whether a file names our hook, even if it cannot be parsed."""
    return data is not None and bool(OURS.search(data.decode("utf-8", "replace")))


def installed(file: JsonFile, data: bytes | None, wanted: Groups) -> Change:
    text = file.text(data)
    if not missing(file.value(data), wanted):
        return file.unchanged(data)
    return file.change(data, with_groups(file, without_groups(file, text), wanted))


def missing(value: Mapping[str, Any], wanted: Groups) -> list[str]:
    """Return the events that do not have exactly one correct hook of ours."""
    ours = _ours(value)
    extra = [event for event, groups in ours.items() if groups and event not in wanted]
    return [event for event, entry in wanted.items() if ours.get(event) != [entry]] + extra


def older(
    value: Mapping[str, Any], wanted: Groups, earlier: Mapping[str, str], since: Collection[str] = ()
) -> list[str]:
    """Return the events whose only hook of ours is as an earlier version wrote it: right but for its matcher.

    Where there is one, the events that we hear `since` then have none.
    """
    before = {event: {**wanted[event], "matcher": earlier[event]} for event in earlier.keys() & wanted.keys()}
    ours = _ours(value)
    old = [event for event, groups in ours.items() if event in before and groups == [before[event]]]
    return [*old, *(event for event in since if old and not ours.get(event))]


def _ours(value: Mapping[str, Any]) -> dict[str, list[Any]]:
    hooks = value.get("hooks")
    found_groups = hooks if isinstance(hooks, dict) else {}
    return {
        event: [group for group in groups if _is_ours(group)] if isinstance(groups, list) else []
        for event, groups in found_groups.items()
    }


def _is_ours(group: object) -> bool:
    """Cursor has no groups: each is a hook itself."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return _is_our_hook(group) or (isinstance(hooks, list) and any(_is_our_hook(hook) for hook in hooks))


def _is_our_hook(hook: object) -> bool:
    return isinstance(hook, dict) and bool(OURS.search(str(hook.get("command", ""))))


def with_groups(file: JsonFile, text: str, wanted: Groups) -> str:
    """Add our hooks after the existing ones."""
    for event, entry in wanted.items():
        top = file.span(text)
        hooks = member(top, "hooks")
        if hooks is None:
            text = append(text, top, {event: [entry]}, "hooks")
            continue
        file.require(hooks.span, dict, "hooks")
        event_member = member(hooks.span, event)
        if event_member is None:
            text = append(text, hooks.span, [entry], event)
        else:
            file.require(event_member.span, list, f"hooks.{event}")
            text = append(text, event_member.span, entry)
    return text


def without_groups(file: JsonFile, text: str) -> str:
    """Remove our hooks, and the lists that held nothing else."""
    while (shorter := _with_one_less(file, text)) is not None:
        text = shorter
    return text


def _with_one_less(file: JsonFile, text: str) -> str | None:
    """Remove one of our hooks and what is empty afterwards; return None if there is none."""
    top = file.span(text)
    hooks = member(top, "hooks")
    if hooks is None or not isinstance(hooks.span.value, dict):
        return None
    for at, event_member in enumerate(hooks.span.members):
        for number, group in enumerate(event_member.span.members):
            if not isinstance(event_member.span.value, list) or not _is_ours(group.span.value):
                continue
            inner = member(group.span, "hooks")
            if inner is not None and len(inner.span.members) > 1:  # a person added another hook to our group
                ours = next(n for n, hook in enumerate(inner.span.members) if _is_our_hook(hook.span.value))
                return remove(text, inner.span, ours)
            if len(event_member.span.members) > 1:
                return remove(text, event_member.span, number)
            if len(hooks.span.members) > 1:
                return remove(text, hooks.span, at)
            return remove(text, top, top.members.index(hooks))
    return None


def refuse_tracked(where: Where, scope: Scope, path: Path) -> None:
    """Says so where a host's file for one repository is in git: what we write there names this machine."""
    if scope != "project" or not path.is_relative_to(where.project):
        return
    name = path.relative_to(where.project).as_posix()
    if git_text(where.project, "ls-files", "--", name):
        raise ConfigError(
            "is tracked by git, and our hooks contain paths on this machine",
            where=str(path),
            fix="Install for yourself instead: omit --scope project",
        )


def keep_out_of_git(where: Where, *names: str) -> tuple[str, ...]:
    """What a person does so that files of this machine do not get into a commit; nothing where git ignores them."""
    visible = [name for name in names if not git_text(where.project, "check-ignore", "--", name)]
    if not visible or not git_text(where.project, "rev-parse", "--git-dir"):
        return ()
    return (f"Keep what names this machine out of git: add {' and '.join(visible)} to .git/info/exclude.",)


class HookHost(BaseHost):
    """An agent with hooks in one JSON file and tools in another. `timeouts` are in the host's own unit, by its events;
    calls of tools other than `matchers` name start no process of ours. `earlier` are those of 0.1.0.
    """

    agent: str
    title: str
    timeouts: Mapping[str, int]
    matchers: Mapping[str, str] = {}
    earlier: Mapping[str, str] = {}
    since: Collection[str] = ()  # events that 0.1.0 did not hear
    new_file = ""  # what a file of hooks must begin with
    shared = True  # whether a repository's files may be in git

    def folder(self, where: Where) -> Path:
        """The user's folder of this agent."""
        raise NotImplementedError

    def hooks(self, where: Where, scope: Scope) -> JsonFile:
        raise NotImplementedError

    def tools(self, where: Where, scope: Scope) -> JsonFile:
        raise NotImplementedError

    def server(self, where: Where) -> dict[str, Any]:
        """The entry of our tools, and under which names it stands."""
        raise NotImplementedError

    def keys(self, where: Where, scope: Scope) -> tuple[str, ...]:
        return ("mcpServers", SERVER)

    def entries(self, interpreter: str) -> dict[str, dict[str, Any]]:
        """One hook for each event, as the host wants it."""
        return {
            event: {
                **({"matcher": self.matchers[event]} if event in self.matchers else {}),
                "hooks": [
                    {
                        "type": "command",
                        "command": command(interpreter, self.agent, event),
                        "timeout": timeout,
                    }
                ],
            }
            for event, timeout in self.timeouts.items()
        }

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        hooks = self.hooks(where, scope)
        self.refuse(where, scope, hooks.path)
        changes = (self.with_hooks(hooks, self.entries(where.interpreter)),)
        return (*changes, self.with_tools(where, scope)) if where.server else changes

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]:
        file, tools = self.hooks(where, scope), self.without_tools(where, scope)
        data = file.data()
        if data is None or not mentioned(data):
            return file.unchanged(data), tools
        return file.change(data, without_groups(file, file.text(data))), tools

    def status(self, where: Where, scope: Scope) -> Wired:
        file, wanted = self.hooks(where, scope), self.entries(where.interpreter)
        data = file.data()
        value = file.value(data) if data is not None else {}
        old = tuple(older(value, wanted, self.earlier, self.since))
        wrong = (*missing(value, wanted), *self.also_wrong(where, value))
        return Wired(
            agent=self.agent,
            scope=scope,
            path=file.path,
            installed=mentioned(data),
            missing=tuple(name for name in wrong if name not in old),
            older=old,
        )

    def also_wrong(self, where: Where, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """What else of ours in the file is not as it should be."""
        return ()

    def found(self, where: Where) -> bool:
        return self.folder(where).is_dir()

    def with_hooks(self, file: JsonFile, wanted: Groups) -> Change:
        data = file.data()
        if self.new_file and data is None and not file.linked:
            return file.change(None, with_groups(file, self.new_file, wanted))
        return installed(file, data, wanted)

    def with_tools(self, where: Where, scope: Scope) -> Change:
        tools = self.tools(where, scope)
        self.refuse(where, scope, tools.path)
        return tools.with_entry(self.keys(where, scope), self.server(where), "type", "command", "args")

    def without_tools(self, where: Where, scope: Scope) -> Change:
        return self.tools(where, scope).without_entry(self.keys(where, scope))

    def refuse(self, where: Where, scope: Scope, path: Path) -> None:
        if self.shared:
            refuse_tracked(where, scope, path)

    def file(
        self, where: Where, scope: Scope, user: str, project: str, *, comments: bool = False
    ) -> JsonFile:
        """A file of this host, by its name in the user's folder and in a repository."""
        path = where.project / project if scope == "project" else self.folder(where) / user
        return host_file(where, scope, path, self.title, comments=comments)
