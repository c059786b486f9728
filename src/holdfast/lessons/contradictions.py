"""Weakens stumbles by later sessions in which the failing call worked, or its remedy failed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import Simple, name_of, names, simple_commands, unquoted
from holdfast.lessons.causes import CAUSES, UNKNOWN, Cause
from holdfast.model.events import Lived
from holdfast.model.lesson import Stumble
from holdfast.sessions.command_words import subject_of

HARDLY = 3  # sessions that speak as loud as one
_SWITCHES_VERSION = lazy_regex(r"\b(?:nvm|fnm|mise|volta|asdf|nodenv|rbenv|pyenv|proto|sdk)\b|\bPATH=")
LATEST = 10  # sessions that show which machine is worked on
_LEADS_AWAY = lazy_regex(r"[/~]|export PATH=[/~]")  # a place of one machine
_OF_A_PLATFORM = names(
    "cat grep egrep sed awk date find ls readlink realpath stat xargs head tail sort tar cp mv mktemp base64 split"
)
_MACHINE = lazy_regex(r"(/(?:Users|home)/[^/]+|[A-Za-z]:[\\/]Users[\\/][^\\/]+|/[^/]+|[A-Za-z]:)")


class Sighting(Struct, frozen=True):
    """One stumble in one session."""

    session: str
    at: float | None
    stumble: Stumble
    agent: str = ""


class Recurring(Struct, frozen=True, kw_only=True):
    """A cause, every session that met it (oldest first), and the remedy that most of them found."""

    cause: str
    subject: str
    tokens: tuple[str, ...]
    tried: str
    failed: str
    instead: str
    seen: tuple[Sighting, ...]
    others: tuple[str, ...] = ()  # what helped as well, in other places
    only: str = ""  # the agent whose sessions met it, where others did not

    @property
    def known(self) -> Cause:
        return CAUSES.get(self.cause, UNKNOWN)

    @property
    def session_ids(self) -> set[str]:
        return {one.session for one in self.seen}

    @property
    def sessions(self) -> int:
        return len(self.session_ids)

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(one.agent for one in self.seen)

    @property
    def at(self) -> float | None:
        return max((one.at for one in self.seen if one.at is not None), default=None)

    @property
    def key(self) -> str:
        return f"{self.cause}|{self.subject}|{','.join(self.tokens)}"


def machine_of(cwd: str) -> str:
    """The machine that a session ran on, by its folder: the home directory, else the top folder."""
    return match[1] if (match := _MACHINE.match(cwd)) else ""


def _of_the_machine(item: Recurring) -> bool:
    """Whether another machine may differ: in programs, shells, and options of system tools."""
    return item.known.of_machine or (item.cause == "flag" and item.subject in _OF_A_PLATFORM)


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
    """The stumble without the sessions that later ones outweigh; None when none is left."""
    met = item.session_ids
    last = max(touched.number[session] for session in met)
    if _of_the_machine(item):
        latest = {machine_of(session.cwd) for session in lived[-LATEST:]}
        if latest.isdisjoint(machine_of(session.cwd) for session in lived if session.session in met):
            return None  # the machine that it was met on is not worked on any more
        if _LEADS_AWAY.match(item.instead):
            found = {one.session for one in item.seen if one.stumble.instead == item.instead}
            if latest.isdisjoint(machine_of(one.cwd) for one in lived if one.session in found):
                item = replace(item, instead="")
    if item.cause in ("path", "folder"):
        against = touched.times(item.tokens[0].rstrip("/"), last)
    elif (
        item.cause == "program" and not _LEADS_AWAY.match(item.instead) and _comes_and_goes(item, lived, met)
    ):
        return None
    elif item.known.over_by_use:
        against = sum(1 for session in lived[last + 1 :] if _uses(session, item))
    elif item.cause == "blocked":
        against = _went_through(item, lived[last + 1 :])
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


def _went_through(item: Recurring, later: Sequence[Lived]) -> int:
    """In how many later sessions of the same agents what a hook refused was called, and not refused.

    What went through at times in sessions that met it is refused for more than its name: only many speak against it.
    """
    if not item.tokens:
        return 0
    called = sum(
        1
        for session in later
        if session.agent in item.agents and any(_calls(session, token) for token in item.tokens)
    )
    return called // HARDLY if any(one.stumble.sometimes for one in item.seen) else called


def _parts(session: Lived, word: str) -> Iterator[Simple]:
    """The simple commands of the session's command lines that contain a word."""
    for command in session.commands:
        if word in command:
            yield from (part for part in simple_commands(command) if part.words)


def _calls(session: Lived, token: str) -> bool:
    parts = (part for part in _parts(session, token.split()[0]) if not part.variables)
    return any(f"{subject_of(part)} ".startswith(f"{token} ") for part in parts)


def _comes_and_goes(item: Recurring, lived: Sequence[Lived], met: Collection[str]) -> bool:
    """Whether a program was there in as many sessions as missed it, since it was first missed: by how PATH was set."""
    first = min(number for number, session in enumerate(lived) if session.session in met)
    used = sum(1 for session in lived[first + 1 :] if session.session not in met and _uses(session, item))
    return used >= len(met)


def _runs_as_it_is(session: Lived, program: str) -> bool:
    """Whether a session did a job with a tool without choosing the version that runs it."""
    jobs = (part for one in session.experience.commands for part in simple_commands(one.command))
    did = any(part.words and part.program == program for part in jobs)
    return did and not any(
        program in command and _SWITCHES_VERSION.search(command) for command in session.commands
    )


def _uses(session: Lived, item: Recurring) -> bool:
    token = item.tokens[0]
    parts = _parts(session, token)
    if item.cause == "program":
        return any(name_of(part.words[0]) == token for part in parts)
    named = (part for part in parts if any(_is(word, token) for word in part.words[1:]))
    return any(subject_of(part, token) == item.subject for part in named)


def _is(word: str, token: str) -> bool:
    text = unquoted(word)
    return text == token or text.partition("=")[0] == token or token in text.split(",")
