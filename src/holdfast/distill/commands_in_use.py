"""The commands with which sessions here test, lint and build: for each job the one that most of the latest ones used.

Other than lessons they need not have been hard to find: that a session will run one of them is likelier than anything
else that can be known at its start.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

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
    best: dict[str, InUse] = {}
    for (job, command), weight in sorted(weights.items(), key=lambda pair: (-pair[1], pair[0])):
        chance = weight / whole
        if job in JOBS and chance >= LEAST and gone.get(command, -1) <= last[command]:
            best.setdefault(
                job, InUse(job=job, command=command, chance=chance, sessions=counts[job, command])
            )
    return list(best.values())[:MOST]
