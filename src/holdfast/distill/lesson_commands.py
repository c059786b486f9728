"""Commands that do a job here: those that most sessions did it with, and nothing that anybody tries first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.distill.lesson_fingerprints import Exists, depends_on
from holdfast.distill.lesson_form import evidence_of, slug
from holdfast.model.experience import Ran
from holdfast.model.lesson import Fingerprint, Lesson
from holdfast.model.session import Lived

MOST_OF_A_PURPOSE = 2
MOST_TESTS = 3
# Sessions that ran a command at once: when none had to find it, no call is saved by telling it.
KNOWN_ANYWAY = 3
_LABELS = {
    "test": "tests",
    "one test": "one test",
    "build": "build",
    "lint": "lint",
    "types": "type check",
    "format": "format",
    "generate": "generate",
    "setup": "set up",
    "run": "run",
    "check": "check",
}
_TASK = re.compile(
    r"(?:cd \S+ && )?(?:mise run|make|just|task|rake|(?:npm|pnpm|yarn|bun) run"
    r"|(?:pnpm|yarn)(?: --filter \S+)?(?! (?:exec|dlx|install|add|i|test)\b)) [\w:.-]+\Z"
)
_DEFAULT = re.compile(  # what anybody tries first: the tool's own word for it, nothing of this repository
    r"(?:go (?:build|test|vet)|cargo (?:build|test|check|clippy|fmt)|(?:npm|pnpm|yarn|bun) (?:test|install|i)|yarn"
    r"|pytest|make|mix (?:test|compile|format)|(?:flutter|dart) (?:test|analyze|format)|dotnet (?:build|test)"
    r"|(?:npx |bunx )?(?:tsc --noEmit|prettier --write)|gofmt -w|ruff (?:check|format)|(?:uv|poetry) (?:sync|install)"
    r"|bundle(?: install)?|composer install|swift (?:build|test)|gradle (?:build|test)|mvn (?:test|package))"
    r"(?: (?:\./\.\.\.|\.|-o \S+|<path>|-run <name>|<name>))*"
)
Uses = list[tuple[Lived, Ran]]


class Commands(NamedTuple):
    """What does the jobs here: commands that had to be found, those that sessions ran at once, and rules for those
    that are no longer defined."""

    found: list[Lesson]
    usual: list[Lesson]
    undefined: list[str]


def command_lessons(lived: Sequence[Lived], exists: Exists) -> Commands:
    """For each job the commands that most sessions did it with, the most used first."""
    used: dict[tuple[str, str], Uses] = {}
    gone: dict[str, int] = {}
    for number, session in enumerate(lived):
        for ran in session.experience.commands:
            used.setdefault((ran.purpose, ran.command), []).append((session, ran))
        for stumble in session.experience.stumbles:
            if stumble.cause in ("task", "command", "target"):
                gone[stumble.tried] = number
    number_of = {session.session: number for number, session in enumerate(lived)}
    ranked = sorted(
        used.items(), key=lambda pair: (-len(pair[1]), -number_of[pair[1][-1][0].session], pair[0])
    )
    kept: dict[str, list[tuple[str, Uses]]] = {}
    undefined: list[str] = []
    for (purpose, command), uses in ranked:
        known = kept.setdefault(purpose, [])
        if gone.get(command, -1) > number_of[uses[-1][0].session]:
            undefined.append(_rule_for(purpose, command))
        elif _tells(purpose, command, uses, known):
            known.append((command, uses))
    chosen = ((purpose, *one) for purpose, known in kept.items() for one in _best(purpose, known))
    most = sorted(chosen, key=lambda one: -len(one[2]))
    made = [
        (_known_anyway(uses), of_command(purpose, command, uses, exists)) for purpose, command, uses in most
    ]
    found = [lesson for known_anyway, lesson in made if not known_anyway]
    return Commands(found, [lesson for known_anyway, lesson in made if known_anyway], undefined)


def _rule_for(purpose: str, command: str) -> str:
    return f"{_LABELS.get(purpose, purpose)}: `{command}`"


def _tells(purpose: str, command: str, uses: Uses, known: list[tuple[str, Uses]]) -> bool:
    """Whether a command is worth a word beside those that more sessions used."""
    if _DEFAULT.fullmatch(command) and purpose != "test":
        return False  # which tests there are is worth a word; that Go builds with `go build` is not
    if len(uses) == 1 and not _TASK.match(command):
        return sum(ran.worked for _, ran in uses) > 1 and not known
    beside = next((len(others) for other, others in known if _TASK.match(other)), 0)
    return purpose in ("test", "one test") or 2 * len(uses) >= beside or bool(_TASK.match(command))


def _known_anyway(uses: Uses) -> bool:
    """Whether sessions know a command from elsewhere: many ran it, and fewer than one in ten looked it up or tried
    another first. That look may have been for something else."""
    watched = [ran.sought for _, ran in uses if ran.sought is not None]
    return len(watched) >= KNOWN_ANYWAY and 10 * sum(watched) < len(watched)


def _best(purpose: str, known: list[tuple[str, Uses]]) -> list[tuple[str, Uses]]:
    """The most used, without what anybody would try first where there is something else."""
    own = [one for one in known if not _DEFAULT.fullmatch(one[0])]
    return (own or known)[: MOST_TESTS if purpose == "test" else MOST_OF_A_PURPOSE]


def purpose_named(label: str) -> str:
    """What a command is for, by the word that rules use for it."""
    return next((purpose for purpose, name in _LABELS.items() if name == label), label)


def of_command(purpose: str, command: str, uses: Sequence[tuple[Lived, Ran]], exists: Exists) -> Lesson:
    label = _LABELS.get(purpose, purpose)
    return Lesson(
        name=slug("one-test" if purpose == "one test" else "", command),
        description=f"{label}: the command that works here",
        rules=(_rule_for(purpose, command),),
        kind="command",
        fingerprint=tuple(Fingerprint(target=target) for target in depends_on(command, exists)),
        captured_at=uses[-1][1].at or uses[-1][0].ended,
        evidence=evidence_of(
            (session.session, ran.at or session.ended, f"{command}: {ran.line or 'worked'} ({ran.worked} ×)")
            for session, ran in uses
        ),
    )
