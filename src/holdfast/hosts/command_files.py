"""The slash commands as files of a person's own, for those who wire an agent by its settings: `install --commands`.

They are called as the plugin's are, `/holdfast:resume`, because they lie in a folder of that name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.hosts import claude_code, gemini, qwen
from holdfast.hosts import slash_commands as slash
from holdfast.hosts.contract import Change, Where

Made = tuple[Path, str, Callable[[slash.SlashCommand, str], str]]


def _made(agent: str, where: Where) -> Made | None:
    """Where an agent looks for commands, how such a file ends, and what makes one."""
    if agent == "claude-code":
        return claude_code.folder(where), "md", slash.claude_markdown
    if agent == "gemini":
        return gemini.home_of(where), "toml", slash.gemini_toml
    if agent == "qwen":
        return qwen.home_of(where), "toml", slash.gemini_toml
    return None


def added(agent: str, where: Where, *, wanted: bool) -> tuple[Change, ...]:
    """The commands, where they are wanted or have been before; a file of that name that is not ours stays."""
    files = _files(agent, where)
    before = {path: where.read(path) for path in files}
    if not (wanted or any(map(_is_ours, before.values()))):
        return ()
    return tuple(
        Change(path=path, before=before[path], after=data if _may_go(before[path]) else before[path])
        for path, data in files.items()
    )


def removed(agent: str, where: Where) -> tuple[Change, ...]:
    """Without the commands; one that somebody has made their own stays."""
    found = [(path, where.read(path)) for path in _files(agent, where)]
    return tuple(
        Change(path=path, before=data, after=None if _is_ours(data) else data)
        for path, data in found
        if data is not None
    )


def has_commands(agent: str, where: Where) -> bool:
    return _made(agent, where) is not None


def _files(agent: str, where: Where) -> dict[Path, bytes]:
    made = _made(agent, where)
    if made is None:
        return {}
    folder, ending, text_of = made
    holdfast = slash.program(where.interpreter)
    return {
        folder / "commands" / "holdfast" / f"{one.name}.{ending}": text_of(one, holdfast).encode()
        for one in slash.COMMANDS
    }


def _may_go(data: bytes | None) -> bool:
    return data is None or _is_ours(data)


def _is_ours(data: bytes | None) -> bool:
    """By what every one of them has, whichever interpreter it names: the description and a call of ours."""
    if data is None:
        return False
    text = data.decode("utf-8", "replace")
    return " -m holdfast" in text and any(one.about in text for one in slash.COMMANDS)
