"""The table of agents: which module reads an agent's transcripts, and which agents can be wired.

A folder `agents/NAME` has `reader.py` and, for an agent that can be wired, `host.py` with `HOST`. Both are loaded on
first use: most commands concern one or two agents (ADR 5). Packages add agents through the entry point group
`holdfast.agents` (docs/contributing/add-an-agent.md); these are looked up only for all agents, or for one that is
not in the table.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from holdfast.agent_kit.contract import Importer

if TYPE_CHECKING:  # nearly every command needs a reader, few a host, and fewer one of another package
    from holdfast.agent_kit.host_contract import Host
    from holdfast.agents.third_party import Guarded

GROUP = "holdfast.agents"

Known = Literal["run", "recorded", "documented", "ours", "package"]
"""How a reader is known to be right: its client was run by us, or files that its users published were read, or only
documentation and source were; the format is ours; another package brings it."""

# Agent, title, folder, the reader there (a class, or an instance), and how it is known. Content is offered to readers
# in this order.
_LISTED: tuple[tuple[str, str, str, str, Known], ...] = (
    ("claude-code", "Claude Code", "claude_code", "ClaudeCode", "run"),
    ("codex", "Codex CLI", "codex", "Codex", "run"),
    ("gemini", "Gemini CLI", "gemini", "Gemini", "run"),
    ("kilo", "Kilo Code", "kilo", "Kilo", "run"),  # its tables are OpenCode's and more
    ("opencode", "OpenCode", "opencode", "OpenCode", "run"),
    ("copilot", "GitHub Copilot CLI", "copilot", "Copilot", "run"),
    ("qwen", "Qwen Code", "qwen", "Qwen", "run"),
    ("cursor", "Cursor", "cursor", "Cursor", "documented"),
    ("aider", "aider", "aider", "Aider", "recorded"),
    ("cline", "Cline", "cline", "CLINE", "recorded"),
    ("roo", "Roo Code", "cline", "ROO", "recorded"),
    ("goose", "Goose", "goose", "Goose", "documented"),
    ("pi", "Pi", "pi", "Pi", "recorded"),
    ("reasonix", "Reasonix", "reasonix", "Reasonix", "recorded"),
    ("kimi", "Kimi Code", "kimi", "Kimi", "run"),
    ("grok", "Grok Build", "grok", "Grok", "run"),
    ("crush", "Crush", "crush", "Crush", "recorded"),
    ("continue", "Continue", "continue_dev", "Continue", "run"),
    ("specstory", "SpecStory", "specstory", "SpecStory", "recorded"),
    ("generic", "any agent (events.jsonl)", "generic", "Generic", "ours"),
    ("entire", "Entire", "entire", "Entire", "recorded"),
)
HOSTS = (
    "claude-code",
    "codex",
    "copilot",
    "gemini",
    "opencode",
    "qwen",
    "kilo",
    "cursor",
)  # in display order
PLUGINS = ("claude-code", "codex", "copilot", "gemini")  # hosts for which a plugin can be made

problems: list[str] = []
"""A line for each thing that is wrong with an agent of another package, as far as it was asked."""


class _OnFirstUse:
    """A proxy that loads its reader on first use."""

    def __init__(self, agent: str, title: str, folder: str, name: str) -> None:
        self.agent = agent
        self.title = title
        self._where = (folder, name)

    def __getattr__(self, attribute: str) -> Any:
        folder, name = self._where
        found = getattr(import_module(f"holdfast.agents.{folder}.reader"), name)
        reader = self._made(found) if isinstance(found, type) else found
        self.__dict__.update(
            {known: getattr(reader, known) for known in dir(reader) if not known.startswith("_")}
        )
        return getattr(reader, attribute)

    def _made(self, kind: Any) -> Any:
        # Checkpoints hold other agents' transcripts, which are offered to all other readers.
        return (
            kind([other for other in importers() if other.agent != "entire"])
            if self.agent == "entire"
            else kind()
        )


IMPORTERS: tuple[Importer, ...] = tuple(cast(Importer, _OnFirstUse(*listed)) for *listed, _ in _LISTED)
BY_AGENT: dict[str, Importer] = {importer.agent: importer for importer in IMPORTERS}


def importers() -> tuple[Importer, ...]:
    """Return all readers, in the order in which content is offered to them."""
    return (*IMPORTERS, *(added.reader for added in third_party().values()))


def known_by(agent: str) -> Known:
    return next((known for name, *_, known in _LISTED if name == agent), "package")


def importer_of(agent: str) -> Importer | None:
    return BY_AGENT.get(agent) or (added.reader if (added := third_party().get(agent)) else None)


def hosts() -> tuple[str, ...]:
    """The agents that can be wired."""
    return (*HOSTS, *(agent for agent, added in third_party().items() if added.host is not None))


def host_of(agent: str) -> Host | None:
    if agent in HOSTS:
        folder = next(folder for name, _, folder, *_ in _LISTED if name == agent)
        return cast("Host", import_module(f"holdfast.agents.{folder}.host").HOST)
    return added.host if (added := third_party().get(agent)) else None


@cache
def third_party() -> dict[str, Guarded]:
    """Return the agents of other packages. A broken one is skipped, with a line in `problems`."""
    if not _is_declared():
        return {}
    from importlib.metadata import entry_points  # slower to import than everything else here

    agents: dict[str, Guarded] = {}
    for entry in entry_points(group=GROUP):
        try:
            agents[entry.name] = _guarded(entry.name, entry.load(), {*BY_AGENT, *agents})
        except Exception as error:
            problems.append(
                f"agent {entry.name} ({entry.value}) was skipped: {type(error).__name__}: {error}"
            )
    return agents


def _is_declared() -> bool:
    """Whether any installed package has our entry point group: a cheap check, because most machines have none."""
    mark = f"[{GROUP}]".encode()
    for folder in dict.fromkeys(sys.path):
        for declared in Path(folder).glob("*-info/entry_points.txt"):
            try:
                if mark in declared.read_bytes():
                    return True
            except OSError:
                continue
    return False


def _guarded(agent: str, given: Any, taken: set[str]) -> Guarded:
    """Wrap the target of an entry point: a module or object with `READER` and, if it can be wired, `HOST`."""
    from holdfast.agents.third_party import Guarded, GuardedHost, GuardedReader

    reader, host = given.READER, getattr(given, "HOST", None)
    if agent in taken:
        raise ValueError("an agent with that name already exists")
    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,39}", agent):
        raise ValueError("a name may contain a-z, 0-9, - and _")
    for part in (reader, host) if host is not None else (reader,):
        if part.agent != agent:
            raise ValueError(
                f"READER and HOST must name the agent as the entry point does, not {part.agent!r}"
            )
    guarded_host = GuardedHost(host, problems) if host is not None else None
    return Guarded(GuardedReader(reader, problems), guarded_host)
