"""All importers, in the order in which content is offered to them. Adding an agent is adding a line here."""

from __future__ import annotations

from holdfast.transcripts.claude_code import ClaudeCode
from holdfast.transcripts.codex import Codex
from holdfast.transcripts.contract import Importer

IMPORTERS: tuple[Importer, ...] = (Codex(), ClaudeCode())

BY_AGENT: dict[str, Importer] = {importer.agent: importer for importer in IMPORTERS}
