"""All importers, in the order in which content is offered to them. Adding an agent is adding a line here.

An importer is loaded when it is first asked something: most commands concern one or two agents.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from holdfast.agents.contract import Importer


class _OnFirstUse:
    """Stands for an importer until a question reaches it. `name` is a class, or an instance made already."""

    def __init__(self, agent: str, title: str, module: str, name: str) -> None:
        self.agent = agent
        self.title = title
        self._where = (module, name)

    def __getattr__(self, attribute: str) -> Any:
        module, name = self._where
        found = getattr(import_module(f"holdfast.agents.{module}.reader"), name)
        importer = self._made(found) if isinstance(found, type) else found
        self.__dict__.update(
            {known: getattr(importer, known) for known in dir(importer) if not known.startswith("_")}
        )
        return getattr(importer, attribute)

    def _made(self, kind: Any) -> Any:
        # Checkpoints hold other agents' transcripts, which are offered to everyone else.
        return (
            kind([other for other in IMPORTERS if other.agent != "entire"])
            if self.agent == "entire"
            else kind()
        )


_LISTED = (
    ("claude-code", "Claude Code", "claude_code", "ClaudeCode"),
    ("codex", "Codex CLI", "codex", "Codex"),
    ("gemini", "Gemini CLI", "gemini", "Gemini"),
    ("opencode", "OpenCode", "opencode", "OpenCode"),
    ("copilot", "GitHub Copilot CLI", "copilot", "Copilot"),
    ("qwen", "Qwen Code", "qwen", "Qwen"),
    ("cursor", "Cursor", "cursor", "Cursor"),
    ("aider", "aider", "aider", "Aider"),
    ("cline", "Cline", "cline", "CLINE"),
    ("roo", "Roo Code", "cline", "ROO"),
    ("goose", "Goose", "goose", "Goose"),
    ("pi", "Pi", "pi", "Pi"),
    ("reasonix", "Reasonix", "reasonix", "Reasonix"),
    ("specstory", "SpecStory", "specstory", "SpecStory"),
    ("generic", "any agent (events.jsonl)", "generic", "Generic"),
    ("entire", "Entire", "entire", "Entire"),
)

IMPORTERS: tuple[Importer, ...] = tuple(cast(Importer, _OnFirstUse(*listed)) for listed in _LISTED)

BY_AGENT: dict[str, Importer] = {importer.agent: importer for importer in IMPORTERS}
