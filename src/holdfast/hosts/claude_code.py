"""Claude Code: hooks in `settings.json`, for the user or, in `settings.local.json`, for one repository."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

from holdfast.errors import ConfigError
from holdfast.hosts.contract import Change, Host, Scope, Where, Wired
from holdfast.hosts.json_text import Span, append, has_comments, member, parse, remove
from holdfast.hot import hook_entry
from holdfast.store import files

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
_OURS = re.compile(r"holdfast[/\\]+hot[/\\]+hook_entry\.py\b")
_FIX = "Correct the file and run the command again; nothing was changed"


class ClaudeCode:
    agent = "claude-code"
    title = "Claude Code"

    def install(self, where: Where, scope: Scope) -> Change:
        path = _path(where, scope)
        if _leads_elsewhere(path, scope):
            raise ConfigError(
                "is a link, and what a repository links to is not followed", where=str(path), fix=_FIX
            )
        data = files.read(path)
        text = _text(path, data)
        wanted = entries(where.interpreter)
        if _missing(parse(text), wanted):
            text = _with(path, _without(path, text), wanted)
            return Change(path=path, before=data, after=_encoded(data, text))
        return Change(path=path, before=data, after=data)

    def uninstall(self, where: Where, scope: Scope) -> Change:
        path = _path(where, scope)
        data = None if _leads_elsewhere(path, scope) else files.read(path)
        if data is None or not _OURS.search(data.decode("utf-8", "replace")):
            return Change(path=path, before=data, after=data)
        return Change(path=path, before=data, after=_encoded(data, _without(path, _text(path, data))))

    def status(self, where: Where, scope: Scope) -> Wired:
        path = _path(where, scope)
        data = None if _leads_elsewhere(path, scope) else files.read(path)
        wanted = entries(where.interpreter)
        missing = _missing(parse(_text(path, data)), wanted) if data is not None else list(wanted)
        there = data is not None and bool(_OURS.search(data.decode("utf-8", "replace")))
        return Wired(agent=self.agent, scope=scope, path=path, installed=there, missing=tuple(missing))


HOST: Host = ClaudeCode()


def entries(interpreter: str) -> dict[str, dict[str, Any]]:
    """One hook for each event, as Claude Code wants it. The interpreter is named in full: a shim costs 300 ms."""
    script = os.path.abspath(hook_entry.__file__)
    return {
        event: {
            **({"matcher": MATCHERS[event]} if event in MATCHERS else {}),
            "hooks": [
                {"type": "command", "command": _command(interpreter, script, event), "timeout": timeout}
            ],
        }
        for event, timeout in TIMEOUTS.items()
    }


def _command(interpreter: str, script: str, event: str) -> str:
    if os.name == "nt":  # Claude Code runs hooks with the shell of Git for Windows
        interpreter, script = interpreter.replace("\\", "/"), script.replace("\\", "/")
    parts = [interpreter, "-I", "-S", script, "claude-code", event]
    # Python ends with 2 when the script is gone (holdfast was removed and its hooks were not), and to Claude Code
    # a 2 means that the prompt is refused.
    return " ".join(shlex.quote(part) for part in parts) + " || true"


def _path(where: Where, scope: Scope) -> Path:
    if scope == "project":
        return where.project / ".claude" / "settings.local.json"
    configured = where.env.get("CLAUDE_CONFIG_DIR")
    folder = Path(configured).expanduser() if configured else where.home / ".claude"
    path = folder.absolute() / "settings.json"
    # One's own settings may be a link into a folder of dotfiles.
    return path.resolve() if path.is_symlink() else path


def _leads_elsewhere(path: Path, scope: Scope) -> bool:
    """A link that came with a repository could point anywhere."""
    return scope == "project" and (path.is_symlink() or path.parent.is_symlink())


def _text(path: Path, data: bytes | None) -> str:
    """The file as text that is one JSON object, or an error that says what is in the way."""
    if data is None or not data.strip():
        return "{}\n"
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
        span = parse(text)
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8", where=str(path), fix=_FIX) from error
    except (json.JSONDecodeError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and has_comments(data.decode("utf-8", "replace")):
            problem, place = "has comments, which Claude Code does not read either", str(path)
        else:
            problem = f"is not valid JSON: {getattr(error, 'msg', 'nested too deeply')}"
            place = f"{path}:{getattr(error, 'lineno', 1)}"
        raise ConfigError(problem, where=place, fix=_FIX) from error
    if not isinstance(span.value, dict):
        raise ConfigError("is not a JSON object", where=str(path), fix=_FIX)
    return text


def _encoded(before: bytes | None, text: str) -> bytes:
    mark = b"\xef\xbb\xbf" if before is not None and before.startswith(b"\xef\xbb\xbf") else b""
    return mark + text.encode()


def _missing(span: Span, wanted: dict[str, dict[str, Any]]) -> list[str]:
    """Events whose hook is not there exactly once and as it should be."""
    hooks = span.value.get("hooks") if isinstance(span.value, dict) else None
    groups = hooks if isinstance(hooks, dict) else {}
    ours = {
        event: [group for group in found if _is_ours(group)] if isinstance(found, list) else []
        for event, found in groups.items()
    }
    extra = [event for event, found in ours.items() if found and event not in wanted]
    return [event for event, entry in wanted.items() if ours.get(event) != [entry]] + extra


def _is_ours(group: object) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(_is_our_hook(hook) for hook in hooks)


def _is_our_hook(hook: object) -> bool:
    return isinstance(hook, dict) and bool(_OURS.search(str(hook.get("command", ""))))


def _with(path: Path, text: str, wanted: dict[str, dict[str, Any]]) -> str:
    """Our hooks after whatever is there."""
    for event, entry in wanted.items():
        top = parse(text)
        hooks = member(top, "hooks")
        if hooks is None:
            text = append(text, top, {event: [entry]}, "hooks")
            continue
        _require(path, hooks.span, dict, "hooks")
        groups = member(hooks.span, event)
        if groups is None:
            text = append(text, hooks.span, [entry], event)
        else:
            _require(path, groups.span, list, f"hooks.{event}")
            text = append(text, groups.span, entry)
    return text


def _require(path: Path, span: Span, kind: type, name: str) -> None:
    if not isinstance(span.value, kind):
        word = "an object" if kind is dict else "a list"
        raise ConfigError(f"{name} is not {word}, as Claude Code wants it", where=str(path), fix=_FIX)


def _without(path: Path, text: str) -> str:
    """The text without our hooks, and without the lists that held nothing else."""
    while (shorter := _with_one_less(text)) is not None:
        text = shorter
    return text


def _with_one_less(text: str) -> str | None:
    """One of our hooks taken out, with whatever is empty afterwards; None when there is none."""
    top = parse(text)
    hooks = member(top, "hooks")
    if hooks is None or not isinstance(hooks.span.value, dict):
        return None
    for at, groups in enumerate(hooks.span.members):
        for number, group in enumerate(groups.span.members):
            if not isinstance(groups.span.value, list) or not _is_ours(group.span.value):
                continue
            inner = member(group.span, "hooks")
            if inner is not None and len(inner.span.members) > 1:  # somebody put a hook of theirs beside ours
                ours = next(n for n, hook in enumerate(inner.span.members) if _is_our_hook(hook.span.value))
                return remove(text, inner.span, ours)
            if len(groups.span.members) > 1:
                return remove(text, groups.span, number)
            if len(hooks.span.members) > 1:
                return remove(text, hooks.span, at)
            return remove(text, top, top.members.index(hooks))
    return None
