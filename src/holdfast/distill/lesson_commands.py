"""Commands that do a job here: those that sessions had to find, and nothing that they type unaided."""

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
# Sessions that are watched before it is said what agents know as it is; until then what did a job is proposed.
YOUNG = 4
KNOWN_ANYWAY = 3
UNUSED = (
    20  # sessions in a row, and half of all: what nobody called since may be no longer of this repository
)
FINDERS = 2  # sessions that had to find a command: one that looked may have looked for something else
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
_SCRIPT = re.compile(
    r"\b(?:npm|pnpm|yarn|bun) run |\b(?:pnpm|yarn) (?!exec|dlx|install|add|i\b|-)(?=[\w:.-]+\Z)"
)
_THROUGH = re.compile(r"\b(?:npx|bunx|uvx|(?:pnpm|yarn|npm) (?:exec|dlx)(?: --)?|\./node_modules/\.bin/)\s*")
_FOLDER = re.compile(r"cd (\S+) && ")
_OF_ONE_FILE = re.compile(r"<(?:path|name)>")
Uses = list[tuple[Lived, Ran]]


class Commands(NamedTuple):
    """What does the jobs here: commands that had to be found, those that sessions ran at once, and rules for those
    that are no longer defined, or that nobody calls any more."""

    found: list[Lesson]
    usual: list[Lesson]
    undefined: list[str]


def command_lessons(lived: Sequence[Lived], exists: Exists) -> Commands:
    """For each job the commands that most sessions did it with, the most used first."""
    number_of = {session.session: number for number, session in enumerate(lived)}
    gone = _Gone(lived)
    ranked = sorted(
        _by_form(lived).items(), key=lambda pair: (-len(pair[1]), -number_of[pair[1][-1][0].session], pair[0])
    )
    tasks = {(purpose, _place(command)) for (purpose, command), _ in ranked if _TASK.match(command)}
    kept: dict[str, list[tuple[str, Uses]]] = {}
    undefined: list[str] = []
    for (purpose, command), uses in ranked:
        known = kept.setdefault(purpose, [])
        last = number_of[uses[-1][0].session]
        if gone.since(command, last) or len(lived) - last > max(UNUSED, len(lived) / 2):
            undefined.append(_rule_for(purpose, command))
        elif _tells(purpose, command, uses, known) and not _stands_in(purpose, command, tasks):
            known.append((command, uses))
    chosen = ((purpose, *one) for purpose, known in kept.items() for one in _best(purpose, known))
    most = sorted(chosen, key=lambda one: -len(one[2]))
    young = len(lived) < YOUNG
    found: list[Lesson] = []
    usual: list[Lesson] = []
    for purpose, command, uses in most:
        lesson = of_command(purpose, command, uses, exists)
        (found if _had_to_be_found(uses, young=young) else usual).append(lesson)
    return Commands(found, usual, undefined)


class _Gone:
    """Tasks that a session called in vain, and programs that it did not find: with which session that last was."""

    def __init__(self, lived: Sequence[Lived]) -> None:
        self._tasks: dict[str, int] = {}
        self._programs: dict[str, int] = {}
        for number, session in enumerate(lived):
            for stumble in session.experience.stumbles:
                if stumble.cause in ("task", "command", "target"):
                    self._tasks[stumble.tried] = number
                elif stumble.cause == "program":
                    self._programs[stumble.token] = number

    def since(self, command: str, used: int) -> bool:
        """Whether a command that was last used in this session was not there any more in a later one."""
        program = _FOLDER.sub("", command).partition(" ")[0]
        return max(self._tasks.get(command, -1), self._programs.get(program, -1)) > used


def _by_form(lived: Sequence[Lived]) -> dict[tuple[str, str], Uses]:
    """What did each job, by the form that most sessions called it in: `npm run x` and `pnpm x` are one task."""
    forms: dict[tuple[str, str], dict[str, Uses]] = {}
    for session in lived:
        for ran in session.experience.commands:
            same = forms.setdefault((ran.purpose, _form(ran.command)), {})
            same.setdefault(ran.command, []).append((session, ran))
    result: dict[tuple[str, str], Uses] = {}
    for (purpose, _), spelled in forms.items():
        best = max(spelled, key=lambda command: (len(spelled[command]), spelled[command][-1][1].at or 0.0))
        seen: dict[str, tuple[Lived, Ran]] = {}
        for command in sorted(spelled, key=lambda one: one != best):
            for session, ran in spelled[command]:
                seen.setdefault(session.session, (session, ran))
        order = {session.session: number for number, session in enumerate(lived)}
        result[purpose, best] = sorted(seen.values(), key=lambda use: order[use[0].session])
    return result


def _form(command: str) -> str:
    return _THROUGH.sub("x ", _SCRIPT.sub("run ", command))


def _place(command: str) -> str:
    found = _FOLDER.match(command)
    return found[1] if found else ""


def _stands_in(purpose: str, command: str, tasks: set[tuple[str, str]]) -> bool:
    """Whether the repository has a task for what a bare tool was called for; one file's test is another job."""
    if _TASK.match(command) or (purpose in ("test", "one test") and _OF_ONE_FILE.search(command)):
        return False
    return (purpose, _place(command)) in tasks


def is_task(command: str) -> bool:
    """Whether a command calls a task that the repository defines."""
    return bool(_TASK.match(command))


def is_default(command: str) -> bool:
    """Whether it is what anybody tries first, and nothing of this repository."""
    return bool(_DEFAULT.fullmatch(command))


def same_place(command: str, other: str) -> bool:
    return _place(command) == _place(other)


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


def _had_to_be_found(uses: Uses, *, young: bool) -> bool:
    """Whether telling a command saves a call: half of the sessions that ran it looked it up or tried another first.

    While few sessions are known nobody can tell: what did a job is proposed until three ran it at once.
    """
    watched = [ran.sought for _, ran in uses if ran.sought is not None]
    if young or not watched:
        return len(watched) < KNOWN_ANYWAY or 10 * sum(watched) >= len(watched)
    return sum(watched) >= FINDERS and 2 * sum(watched) >= len(watched)


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
