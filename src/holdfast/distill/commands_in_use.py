"""The commands with which sessions here test, lint and build: for each job the one that most of the latest ones used.

A task that the repository defines stands for the bare tool that sessions called beside it, and what checks all for what
checks a file: whoever knows the one can do the other.

Other than lessons they need not have been hard to find: that a session will run one of them is likelier than anything
else that can be known at its start.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct

from holdfast.distill.lesson_commands import is_default, is_task, same_place
from holdfast.model.session import Lived

FEWEST = 3  # sessions that ran something: before that nobody can say what is usual
HALF_LIFE = 30  # sessions
LEAST = 0.1
MOST = 5
GONE = ("task", "command", "target")  # causes of a stumble that say that what was tried is not defined
JOBS = {
    "test": "test",
    "check": "check",
    "lint": "lint",
    "format": "format",
    "build": "build",
    "types": "types",
    "one test": "one test",
    "run": "run",
    "generate": "generate",
}
_OF_A_FILE = " <path>"
_ELSEWHERE = re.compile(r"(?:^|[\s=\"'])(?:/|~|\$HOME\b|[A-Za-z]:[\\/])[\w.\\/-]*")  # a place of one machine


class InUse(Struct, frozen=True, kw_only=True):
    """A command with the chance that the next session runs it, and in how many it worked."""

    job: str
    command: str
    chance: float
    sessions: int


def in_use(lived: Sequence[Lived]) -> list[InUse]:
    """Of the sessions, oldest first, one command for each job, the likeliest first; [] where too few ran any."""
    if sum(bool(session.experience.commands) for session in lived) < FEWEST:
        return []
    weights: dict[tuple[str, str], float] = {}
    counts: dict[tuple[str, str], int] = {}
    last: dict[str, int] = {}
    gone: dict[str, int] = {}
    misplaced: set[str] = set()  # programs that fail in the wrong folder
    whole = 1.0  # as if one more session had run nothing: what one of two did is no certainty
    for number, session in enumerate(lived):
        weight = 0.5 ** ((len(lived) - 1 - number) / HALF_LIFE)
        whole += weight
        for key in {(ran.purpose, ran.command) for ran in session.experience.commands if ran.worked}:
            weights[key] = weights.get(key, 0.0) + weight
            counts[key] = counts.get(key, 0) + 1
            last[key[1]] = number
        for stumble in session.experience.stumbles:
            if stumble.cause in GONE:
                gone[stumble.tried] = number
            elif stumble.cause == "place":
                misplaced.add(_program(stumble.tried))
    usable: dict[str, list[InUse]] = {}
    for (job, command), weight in sorted(weights.items(), key=lambda pair: (-pair[1], pair[0])):
        chance = weight / whole
        if (
            job in JOBS
            and chance >= LEAST
            and gone.get(command, -1) <= last[command]
            and _tells(job, command)
        ):
            one = InUse(job=job, command=command, chance=chance, sessions=counts[job, command])
            usable.setdefault(job, []).append(one)
    best = [_chosen(job, _placed(found, misplaced)) for job, found in usable.items()]
    return sorted(best, key=lambda one: -one.chance)[:MOST]


def _tells(job: str, command: str) -> bool:
    """Not of one machine or one moment, nor what everybody knows how to do with one file or one test."""
    return not of_one_machine(command) and (job not in ("one test", "format") or not is_default(command))


def _placed(found: Sequence[InUse], misplaced: Collection[str]) -> Sequence[InUse]:
    """Where a program works in its folder only: those that say the folder. A shell that was there did not have to."""
    program = _program(found[0].command)
    said = [one for one in found if one.command.startswith("cd ") and _program(one.command) == program]
    return said if program in misplaced and said else found


def _program(command: str) -> str:
    return command.rpartition("&& ")[2].partition(" ")[0]


def of_one_machine(command: str) -> bool:
    """Whether a command names a place outside the repository, or lacks what was taken out of it."""
    return "REDACTED" in command or _ELSEWHERE.search(command) is not None


def _chosen(job: str, found: Sequence[InUse]) -> InUse:
    """Of one job's commands, the likeliest first: that one, or what stands for it."""
    first = found[0]
    if not is_task(first.command) and not (job == "test" and _OF_A_FILE in first.command):
        tasks = (one for one in found if is_task(one.command) and same_place(one.command, first.command))
        return next(tasks, first)
    whole = first.command.removesuffix(_OF_A_FILE)
    return next((one for one in found if one.command == whole and 2 * one.chance >= first.chance), first)
