"""Checks what a repository's guides already state: that is not a lesson, and is not injected again.

The guides are those of the checkout; for sessions imported without a checkout, the guide text that they saw counts.
A session that failed in spite of a guide teaches a different rule, which is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.core.reading import text_of
from holdfast.knowledge.context import Here
from holdfast.knowledge.instructions import InstructionsSource
from holdfast.lessons.proposals import same_rule
from holdfast.model.events import Lived
from holdfast.model.lesson import Lesson
from holdfast.sessions.corrections import stated_in
from holdfast.store.project import Project

_MOST = 200_000
_MOST_LINES = 2_000
_OWN = lazy_regex(r"<!-- holdfast:begin .*?<!-- holdfast:end [^>]*-->", re.DOTALL)
_COMMAND = lazy_regex(r"[\w ]{2,12}: `([^`\n]+)`")
_STATED_AS = ("correction", "other")


class Guides:
    """The guides of a checkout, without the text that holdfast wrote; `lived` is used where there is no checkout."""

    def __init__(self, project: Project, lived: Iterable[Lived] = ()) -> None:
        self._text = guide_text(project.root)
        self._shown: frozenset[str] = frozenset()
        if not self._text and not is_checkout(project.root):
            self._shown = frozenset(stated for session in lived for stated in session.experience.stated)

    def state(self, lesson: Lesson) -> bool:
        """Whether the guides state all of a lesson: a command literally, a person's rule in the same or other words."""
        if lesson.kind == "command":
            commands = [_COMMAND.fullmatch(rule) for rule in lesson.rules]
            return all(match is not None and self._has(match[1]) for match in commands)
        if lesson.kind in _STATED_AS and self._text:
            return all(any(same_rule(rule, line) for line in self._lines) for rule in lesson.rules)
        return False

    def name(self, path: str) -> bool:
        """Whether the guides name a file."""
        return path in self._text

    def _has(self, command: str) -> bool:
        if command in self._commands:
            return True
        if command not in self._text:
            return False
        # `make test` is not stated by `make test-slow`, nor `npm test` by `pnpm test`.
        return re.search(rf"(?<![\w./-]){re.escape(command)}(?![\w:/-])", self._text) is not None

    @cached_property
    def _commands(self) -> frozenset[str]:
        return self._shown or frozenset(stated_in(self._text))

    @cached_property
    def _lines(self) -> list[str]:
        lines = (line.strip(" \t-*>#") for line in self._text.splitlines())
        return [line for line in lines if len(line) > 10][:_MOST_LINES]


def guide_text(root: Path) -> str:
    """The text of the repository's instruction files and their imports; '' without any."""
    scope = Here(cwd=str(root), root=str(root), home=str(root), now=0.0, env={})
    texts: list[str] = []
    room = _MOST
    for instruction_file in InstructionsSource().files(scope):
        is_personal = instruction_file.shown.startswith(
            "~"
        )  # a personal file, which other people's agents do not see
        if (
            not instruction_file.reason
            and not is_personal
            and room > 0
            and (text := text_of(instruction_file.path, room))
        ):
            texts.append(_OWN.sub("", text)[:room])
            room -= len(texts[-1])
    return "\n".join(texts)
