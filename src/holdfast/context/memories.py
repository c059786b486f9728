"""What agents have noted for themselves about this project: read, never written."""

from __future__ import annotations

import os

from holdfast.context.checkout import find_checkout
from holdfast.context.contract import REST_S
from holdfast.context.reading import is_file, is_inside, names_in
from holdfast.context.text_files import Found, TextFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.context.contract import Here

_MOST_NOTES = 20
_LED_OUT = "a link that leads out of the agent's folder"


class ClaudeMemory(TextFiles):
    """`<config>/projects/<directory>/memory/`: MEMORY.md, and a file for each topic."""

    key = "memory/claude-code"
    rest = REST_S

    def files(self, here: Here) -> list[Found]:
        config = here.env.get("CLAUDE_CONFIG_DIR") or os.path.join(here.home, ".claude")
        checkout = find_checkout(here.root)
        # All work trees of a repository share what is noted in the first one.
        roots = [checkout.first_tree] if checkout else []
        folders = dict.fromkeys(_slug(path) for path in [*roots, here.root, here.cwd] if path)
        found: list[Found] = []
        for folder in folders:
            found += _notes(os.path.join(config, "projects", folder, "memory"), here.home)
        return found


class CodexMemory(TextFiles):
    """`$CODEX_HOME/memories/`: a summary and a register, for all projects; its raw material is left alone."""

    key = "memory/codex"
    rest = REST_S

    def files(self, here: Here) -> list[Found]:
        home = here.env.get("CODEX_HOME") or os.path.join(here.home, ".codex")
        folder = os.path.join(home, "memories")
        names = [name for name in ("memory_summary.md", "MEMORY.md") if is_file(os.path.join(folder, name))]
        return [_found(folder, name, here.home) for name in names]


def _notes(folder: str, home: str) -> list[Found]:
    names = names_in(folder, (".md",), _MOST_NOTES)
    names.sort(key=lambda name: name != "MEMORY.md")  # the one that Claude itself begins with
    return [_found(folder, name, home) for name in names]


def _found(folder: str, name: str, home: str) -> Found:
    path = os.path.join(folder, name)
    prefix = home.rstrip(os.sep) + os.sep
    shown = f"~/{path[len(prefix) :]}" if path.startswith(prefix) else path
    return Found(shown.replace(os.sep, "/"), path, "" if is_inside(path, folder) else _LED_OUT)


def _slug(path: str) -> str:
    """As Claude Code names the folder of a directory."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in path)
