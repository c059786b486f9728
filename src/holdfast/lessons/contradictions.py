"""Weakens stumbles that later sessions contradict: the failing call worked, or its remedy failed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.patterns import lazy_regex
from holdfast.core.shell import Simple, name_of, names, simple_commands, unquoted
from holdfast.language.command_words import subject_of
from holdfast.lessons.causes import CAUSES, UNKNOWN, Cause
from holdfast.model.events import Lived
from holdfast.model.lesson import Stumble

HARDLY = 3  # sessions that count as one
_SWITCHES_VERSION = lazy_regex(r"\b(?:nvm|fnm|mise|volta|asdf|nodenv|rbenv|pyenv|proto|sdk)\b|\bPATH=")
LATEST = 10  # sessions that show which machines are in use
_LEADS_AWAY = lazy_regex(r"[/~]|export PATH=[/~]")  # a path of one machine
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
    others: tuple[str, ...] = ()  # other remedies, in other folders
    only: str = ""  # the agent, if only its sessions met it

    @property
    def known(self) -> Cause:
        return CAUSES.get(self.cause, UNKNOWN)

    @property
    def session_ids(self) -> set[str]:
        return {sighting.session for sighting in self.seen}

    @property
    def sessions(self) -> int:
        return len(self.session_ids)

    @property
    def agents(self) -> frozenset[str]:
        return frozenset(sighting.agent for sighting in self.seen)

    @property
    def at(self) -> float | None:
        return max((sighting.at for sighting in self.seen if sighting.at is not None), default=None)

    @property
    def key(self) -> str:
        return f"{self.cause}|{self.subject}|{','.join(self.tokens)}"


def machine_of(cwd: str) -> str:
    """Identify the machine of a session by its folder: the home directory, or else the top folder."""
    return match[1] if (match := _MACHINE.match(cwd)) else ""


def _of_the_machine(item: Recurring) -> bool:
    """Whether a stumble depends on the machine: programs, shells, and options of system tools."""
    return item.known.of_machine or (item.cause == "flag" and item.subject in _OF_A_PLATFORM)


class Touched:
    """The files that sessions read or wrote, and in which sessions."""

    def __init__(self, lived: Sequence[Lived]) -> None:
        self._paths: dict[str, list[int]] = {}
        self.number = {session.session: number for number, session in enumerate(lived)}
        for number, session in enumerate(lived):
            for touch in session.files:
                self._paths.setdefault(touch.path, []).append(number)
                folder = touch.path.rpartition("/")[0]
                while folder:
                    numbers = self._paths.setdefault(f"{folder}/", [])
                    if not numbers or numbers[-1] != number:
                        numbers.append(number)
                    folder = folder.rpartition("/")[0]

    def times(self, path: str, after: int) -> int:
        """Count the sessions after `after` that touched the path, or a file in it."""
        numbers = {*self._paths.get(path, ()), *self._paths.get(f"{path}/", ())}
        return sum(1 for number in numbers if number > after)


def still(item: Recurring, lived: Sequence[Lived], touched: Touched) -> Recurring | None:
    """Return the stumble without the sessions that later ones outweigh; None if none is left."""
    met = item.session_ids
    last = max(touched.number[session] for session in met)
    if _of_the_machine(item):
        latest = {machine_of(session.cwd) for session in lived[-LATEST:]}
        if latest.isdisjoint(machine_of(session.cwd) for session in lived if session.session in met):
            return None  # its machine is no longer in use
        if _LEADS_AWAY.match(item.instead):
            helped = {sighting.session for sighting in item.seen if sighting.stumble.instead == item.instead}
            if latest.isdisjoint(
                machine_of(sighting.cwd) for sighting in lived if sighting.session in helped
            ):
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
        if item.instead and any(stumble.tried == item.instead for stumble in session.experience.stumbles)
    )
    remaining = len(met) - against
    if remaining <= 0:
        return None
    if not against:
        return item
    kept = sorted(met, key=lambda session: touched.number[session])[-remaining:]
    return replace(item, seen=tuple(sighting for sighting in item.seen if sighting.session in kept))


def _went_through(item: Recurring, later: Sequence[Lived]) -> int:
    """Count the later sessions of the same agents in which a refused command was called and not refused.

    A command that sometimes passed in sessions that met the refusal is refused for other reasons than its name: then
    many sessions are needed to contradict it.
    """
    if not item.tokens:
        return 0
    called = sum(
        1
        for session in later
        if session.agent in item.agents and any(_calls(session, token) for token in item.tokens)
    )
    return called // HARDLY if any(sighting.stumble.sometimes for sighting in item.seen) else called


def _parts(session: Lived, word: str) -> Iterator[Simple]:
    """Yield the simple commands of the session's command lines that contain a word."""
    for command in session.commands:
        if word in command:
            yield from (part for part in simple_commands(command) if part.words)


def _calls(session: Lived, token: str) -> bool:
    parts = (part for part in _parts(session, token.split()[0]) if not part.variables)
    return any(f"{subject_of(part)} ".startswith(f"{token} ") for part in parts)


def _comes_and_goes(item: Recurring, lived: Sequence[Lived], met: Collection[str]) -> bool:
    """Whether, since a program was first missing, as many sessions had it as missed it: then it depends on PATH."""
    first = min(number for number, session in enumerate(lived) if session.session in met)
    used = sum(1 for session in lived[first + 1 :] if session.session not in met and _uses(session, item))
    return used >= len(met)


def _runs_as_it_is(session: Lived, program: str) -> bool:
    """Whether a session did a job with a tool without switching the version of its runtime."""
    jobs = (part for ran in session.experience.commands for part in simple_commands(ran.command))
    did_job = any(part.words and part.program == program for part in jobs)
    return did_job and not any(
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
