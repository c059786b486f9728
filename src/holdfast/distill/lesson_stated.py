"""Commands that a repository's own instructions name, as a session was shown them: agents know these as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.distill.harvest_prose import mentions
from holdfast.distill.harvest_state import Gathered, raw
from holdfast.distill.lesson_words import job, purpose_of
from holdfast.distill.shell_line import simple_commands, unquoted
from holdfast.model.guides import GUIDES, may_be_guide
from holdfast.text.late import late

MOST = 60
LONGEST_TEXT = 60_000
_NUMBERED = late(r"^\s*\d+(?:→|\t|[:|] ?)", re.MULTILINE)  # how tools show a file's lines
_SPAN = late(r"`([^`\n]{3,160})`")
_FENCE = late(r"\s*(?:```|~~~)")
_PROMPT = late(r"\s*(?:[$%>] )?")
_REMARK = late(r"\s+(?:#|//|--\s).*$")
_SHOWS = frozenset(["cat", "head", "tail", "sed", "less", "bat", "nl", "type"])


def is_guide(here: str) -> bool:
    """Whether a path, said from the session's directory, is of the instructions at the top of the repository."""
    return here.removeprefix("./") in GUIDES


def shows_guide(command: str) -> bool:
    """Whether a shell call prints such a file."""
    if not mentions(command, GUIDES):
        return False
    return any(
        part.program in _SHOWS and any(may_be_guide(unquoted(word)) for word in part.words[1:])
        for part in simple_commands(command)
        if part.words
    )


def note_stated(state: Gathered, text: str) -> None:
    """Keeps the commands of a guide that a session was shown, as rules would name them."""
    for command in stated_in(text):
        if len(state.stated) >= MOST:
            return
        if (kept := raw(command)) not in state.stated:
            state.stated.append(kept)


def stated_in(text: str) -> Iterator[str]:
    """The commands in a text that do a job here, each as a rule names it; only what stands as code."""
    for line in _code(_NUMBERED.sub("", text[:LONGEST_TEXT])):
        for part in simple_commands(line):
            if part.words and not part.shapes and purpose_of(part) and (named := job(part)):
                yield named


def _code(text: str) -> Iterator[str]:
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            yield _REMARK.sub("", line[_PROMPT.match(line).end() :])  # type: ignore[union-attr]
        elif "`" in line:
            yield from _SPAN.findall(line)
