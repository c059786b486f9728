"""How each agent client is run without a terminal: its words, and what it may do without asking."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import NotFound

PROMPT, MODEL = "{prompt}", "{model}"


def _claude_home(home: Path, tree: Path) -> dict[Path, str]:
    """Hooks of a folder that nobody trusts are not run."""
    known = {"hasCompletedOnboarding": True, "projects": {str(tree): {"hasTrustDialogAccepted": True}}}
    return {home / ".claude.json": json.dumps(known)}


def _copilot_home(home: Path, tree: Path) -> dict[Path, str]:
    return {home / ".copilot" / "config.json": json.dumps({"trustedFolders": [str(tree)]})}


def _nothing(home: Path, tree: Path) -> dict[Path, str]:
    return {}


class Client(Struct, frozen=True, kw_only=True):
    """`words` hold the places of prompt and model. `may` says what the words permit, for the person who agrees.

    `trusts` writes what a person would have clicked in a new folder; `cloned` are variables of a first start.
    """

    title: str
    program: str
    words: tuple[str, ...]
    may: str
    trusts: Callable[[Path, Path], dict[Path, str]] = _nothing
    variables: Mapping[str, str] = {}


_ALL = "run any command and change any file, without asking and without a sandbox"
_CLAUDE_TOOLS = "Bash,Read,Edit,MultiEdit,Write,NotebookEdit,Glob,Grep,Task,TodoWrite,mcp__holdfast"
CLIENTS: dict[str, Client] = {
    "claude-code": Client(
        title="Claude Code",
        program="claude",
        words=("-p", PROMPT, "--model", MODEL, "--output-format", "json", "--allowedTools", _CLAUDE_TOOLS),
        may=_ALL,
        trusts=_claude_home,
        variables={"DISABLE_AUTOUPDATER": "1"},
    ),
    "codex": Client(
        title="Codex",
        program="codex",
        words=(
            "exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-hook-trust",
            "--dangerously-bypass-approvals-and-sandbox", "--model", MODEL, PROMPT,
        ),
        may=f"{_ALL}; hooks of this experiment's home count as trusted",
    ),
    "gemini": Client(
        title="Gemini CLI",
        program="gemini",
        words=("-p", PROMPT, "--model", MODEL, "--yolo", "--output-format", "json"),
        may=_ALL,
    ),
    "opencode": Client(
        title="OpenCode",
        program="opencode",
        words=("run", PROMPT, "--model", MODEL, "--format", "json"),
        may="do whatever its own settings allow, which is everything by default",
        variables={"OPENCODE_DISABLE_AUTOUPDATE": "1"},
    ),
    "copilot": Client(
        title="Copilot CLI",
        program="copilot",
        words=("-p", PROMPT, "--model", MODEL, "--allow-all-tools", "--output-format", "json"),
        may=_ALL,
        trusts=_copilot_home,
    ),
    "qwen": Client(
        title="Qwen Code",
        program="qwen",
        words=("-p", PROMPT, "--model", MODEL, "--yolo", "--output-format", "json"),
        may=_ALL,
    ),
}  # fmt: skip
_COMMAND = Client(title="the command", program="", words=(), may="do whatever it allows itself")


def client_of(agent: str) -> Client:
    return CLIENTS.get(agent, _COMMAND)


def program_of(client: Client, program: str, path: str | None) -> str:
    """The program in full. Raises NotFound where it is not installed."""
    wanted = program or client.program
    found = shutil.which(str(Path(wanted).expanduser()), path=path)
    if found is None:
        raise NotFound(
            f"{client.title} is not installed: no program {wanted!r}", fix="Install it, or set `program`"
        )
    return str(Path(found).absolute())


def command_of(
    client: Client, program: str, arguments: tuple[str, ...], model: str, prompt: str
) -> list[str]:
    """The words of one session. A client's own words come first; a command has only those of the task file."""
    words = [word.replace(MODEL, model) for word in (*client.words, *arguments)]
    return [program, *(prompt if word == PROMPT else word for word in words)]
