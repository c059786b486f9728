"""Whether a stumble still holds: later sessions in which the failing call worked, or its remedy failed, weaken it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.distill.lesson_recurring import Recurring
from holdfast.distill.lesson_words import subject_of
from holdfast.distill.shell_line import name_of, simple_commands, unquoted
from holdfast.model.session import Lived

_CONTRADICTED_BY_USE = frozenset(["program", "flag", "task", "command"])
_SWITCHES_VERSION = re.compile(r"\b(?:nvm|fnm|mise|volta|asdf|nodenv|rbenv|pyenv|proto|sdk)\b|\bPATH=")


class Touched:
    """Which files sessions read or wrote, and when they last did."""

    def __init__(self, lived: Sequence[Lived]) -> None:
        self._paths: dict[str, list[int]] = {}
        self.number = {session.session: number for number, session in enumerate(lived)}
        for number, session in enumerate(lived):
            for touch in session.files:
                self._paths.setdefault(touch.path, []).append(number)
                folder = touch.path.rpartition("/")[0]
                while folder:
                    known = self._paths.setdefault(f"{folder}/", [])
                    if not known or known[-1] != number:
                        known.append(number)
                    folder = folder.rpartition("/")[0]

    def times(self, path: str, after: int) -> int:
        """In how many sessions after that one the path, or something in it, was there."""
        found = {*self._paths.get(path, ()), *self._paths.get(f"{path}/", ())}
        return sum(1 for number in found if number > after)


def still(item: Recurring, lived: Sequence[Lived], touched: Touched) -> Recurring | None:
    """The stumble as strong as it is after sessions in which the failing call worked."""
    met = {one.session for one in item.seen}
    last = max(touched.number[session] for session in met)
    if item.cause in ("path", "folder"):
        against = touched.times(item.tokens[0].rstrip("/"), last)
    elif item.cause in _CONTRADICTED_BY_USE:
        against = sum(1 for session in lived[last + 1 :] if _uses(session, item))
    elif item.cause == "engine":
        against = sum(1 for session in lived[last + 1 :] if _runs_as_it_is(session, item.subject))
    else:
        against = 0
    against += sum(
        1
        for session in lived[last + 1 :]
        if item.instead and any(other.tried == item.instead for other in session.experience.stumbles)
    )
    left = len(met) - against
    if left <= 0:
        return None
    if not against:
        return item
    kept = sorted(met, key=lambda session: touched.number[session])[-left:]
    return replace(item, seen=tuple(one for one in item.seen if one.session in kept))


def _runs_as_it_is(session: Lived, program: str) -> bool:
    """Whether a session did a job with a tool without choosing the version that runs it."""
    jobs = (part for one in session.experience.commands for part in simple_commands(one.command))
    did = any(part.words and part.program == program for part in jobs)
    return did and not any(
        program in command and _SWITCHES_VERSION.search(command) for command in session.commands
    )


def _uses(session: Lived, item: Recurring) -> bool:
    token = item.tokens[0]
    for command in session.commands:
        if token not in command:
            continue
        for part in simple_commands(command):
            if not part.words:
                continue
            if item.cause == "program":
                if name_of(part.words[0]) == token:
                    return True
            elif any(_is(word, token) for word in part.words[1:]) and subject_of(part, token) == item.subject:
                return True
    return False


def _is(word: str, token: str) -> bool:
    text = unquoted(word)
    return text == token or text.partition("=")[0] == token or token in text.split(",")
