"""What a repository tells every agent anyway: what its guides state is no lesson, and costs no words twice.

The guides are those of the checkout; where sessions were imported without one, what they were shown of them counts.
A session that failed in spite of a guide teaches a stumble, which is another rule and is kept.
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
    """The guides of a checkout, without what holdfast wrote into them; `lived` stands in where there is none."""

    def __init__(self, project: Project, lived: Iterable[Lived] = ()) -> None:
        self._text = guide_text(project.root)
        self._shown: frozenset[str] = frozenset()
        if not self._text and not is_checkout(project.root):
            self._shown = frozenset(one for session in lived for one in session.experience.stated)

    def state(self, lesson: Lesson) -> bool:
        """Whether the guides say all of a lesson: a command by itself, a person's rule in the same or other words."""
        if lesson.kind == "command":
            commands = [_COMMAND.fullmatch(rule) for rule in lesson.rules]
            return all(found is not None and self._has(found[1]) for found in commands)
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
    """What the repository's own instructions say, with the files that they import; '' where there are none."""
    here = Here(cwd=str(root), root=str(root), home=str(root), now=0.0, env={})
    texts: list[str] = []
    room = _MOST
    for found in InstructionsSource().files(here):
        own = found.shown.startswith("~")  # a person's, which other people's agents do not hear
        if not found.reason and not own and room > 0 and (text := text_of(found.path, room)):
            texts.append(_OWN.sub("", text)[:room])
            room -= len(texts[-1])
    return "\n".join(texts)
