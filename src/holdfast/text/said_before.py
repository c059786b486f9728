"""Each thing once: a line that repeats how another began, or a command that stands in another, is not told again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from holdfast.text.late import late

_LABEL = late(
    r"(?:Next|To do|Done last|Last state here is [^()]*|Project [^:]{1,80}|Open question|Noted by hand)"
    r"(?: ?\([^)]*\))?: "
)
_COMMAND = late(r"\w+ passed with: (?P<command>.+)")
_BRANCH = late(r" \(on (?P<branch>[^()]+)\)\Z")
_WORD = late(r"\w+")
_FEWEST = 3  # words; fewer may begin two things by chance

T = TypeVar("T")


def unsaid(lines: Iterable[T], text_of: Callable[[T], str]) -> list[T]:
    """The lines without those that say less of something that an earlier one says."""
    kept: list[T] = []
    told: list[tuple[str, str, list[str]]] = []
    for line in lines:
        text = text_of(line)
        branch, words = _said(text)
        command = _COMMAND.fullmatch(text)
        if command and any(command["command"] in other for other, _, _ in told):
            continue
        if len(words) >= _FEWEST and any(_repeats(words, branch, said, on) for _, on, said in told):
            continue
        told.append((text, branch, words))
        kept.append(line)
    return kept


def _repeats(words: list[str], branch: str, said: list[str], on: str) -> bool:
    """The same on two branches is two things; what names no branch is about either."""
    return words == said[: len(words)] and (branch == on or not (branch and on))


def _said(text: str) -> tuple[str, list[str]]:
    """Which branch a line of ours is about, and its words without what it is called; nothing for other lines."""
    label = _LABEL.match(text)
    if label is None:
        return "", []
    on = _BRANCH.search(text)
    said = text[label.end() : on.start() if on else len(text)]
    words = [word.casefold() for word in _WORD.findall(said)]
    # What was cut may have been cut within a word.
    return (on["branch"] if on else ""), words[:-1] if said.endswith("…") else words
