"""What a repository tells every agent anyway: commands that its guides state are no lesson, and cost no words twice."""

from __future__ import annotations

import re

from holdfast.model.lesson import Lesson
from holdfast.repo.fingerprint_content import Unreadable, read_regular
from holdfast.store.layout import Project

GUIDES = (
    "AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
)
_MOST = 1 << 20
_OWN = re.compile(r"<!-- holdfast:begin .*?<!-- holdfast:end [^>]*-->", re.DOTALL)
_COMMAND = re.compile(r"[\w ]{2,12}: `([^`\n]+)`")


class Guides:
    """The guides at the top of a checkout, without what holdfast wrote into them."""

    def __init__(self, project: Project) -> None:
        self._text = "\n".join(_OWN.sub("", text) for name in GUIDES if (text := _read(project, name)))

    def state(self, lesson: Lesson) -> bool:
        """Whether a guide states all of a lesson: a command in so many words."""
        if lesson.kind != "command" or not self._text:
            return False
        return all((said := _COMMAND.fullmatch(rule)) and self._has(said[1]) for rule in lesson.rules)

    def _has(self, command: str) -> bool:
        if command not in self._text:
            return False
        # `make test` is not stated by `make test-slow`, nor `npm test` by `pnpm test`.
        return re.search(rf"(?<![\w./-]){re.escape(command)}(?![\w:/-])", self._text) is not None


def _read(project: Project, name: str) -> str:
    try:
        return read_regular(str(project.root / name), _MOST).decode("utf-8", "replace")
    except (OSError, ValueError, Unreadable):
        return ""
