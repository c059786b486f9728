"""Commands that do a job in this repository: lessons about those that sessions had to look up, and those in use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.lessons.grounds import IN_FOLDER, Exists, depends_on, evidence_of, slug
from holdfast.model.events import Lived
from holdfast.model.lesson import Fingerprint, Lesson, Ran

MOST_OF_A_PURPOSE = 2
MOST_TESTS = 3
# Sessions needed to tell which commands agents know anyway; until then every command is proposed.
YOUNG = 4
KNOWN_ANYWAY = 3
GONE = ("task", "command", "target")  # causes that mean that the tried command is not defined
# A command that this many sessions in a row, and half of all, did not call may be gone.
UNUSED = 20
FINDERS = 2  # sessions that had to look up a command: a single one may have looked for something else
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
_TASK = lazy_regex(
    r"(?:cd \S+ && )?(?:mise run|make|just|task|rake|(?:npm|pnpm|yarn|bun) run"
    r"|(?:pnpm|yarn)(?: --filter \S+)?(?! (?:exec|dlx|install|add|i|test)\b)) [\w:.-]+\Z"
)
_DEFAULT = lazy_regex(  # commands that every agent tries first, in any repository
    r"(?:go (?:build|test|vet)|cargo (?:build|test|check|clippy|fmt)|(?:npm|pnpm|yarn|bun) (?:test|install|i)|yarn"
    r"|pytest|make|mix (?:test|compile|format)|(?:flutter|dart) (?:test|analyze|format)|dotnet (?:build|test)"
    r"|(?:npx |bunx )?(?:tsc --noEmit|prettier --write)|gofmt -w|ruff (?:check|format)|(?:uv|poetry) (?:sync|install)"
    r"|bundle(?: install)?|composer install|swift (?:build|test)|gradle (?:build|test)|mvn (?:test|package))"
    r"(?: (?:\./\.\.\.|\.|-o \S+|<path>|-run <name>|<name>))*"
)
_SCRIPT = lazy_regex(
    r"\b(?:npm|pnpm|yarn|bun) run |\b(?:pnpm|yarn) (?!exec|dlx|install|add|i\b|-)(?=[\w:.-]+\Z)"
)
_THROUGH = lazy_regex(r"\b(?:npx|bunx|uvx|(?:pnpm|yarn|npm) (?:exec|dlx)(?: --)?|\./node_modules/\.bin/)\s*")
_OF_ONE_FILE = lazy_regex(r"<(?:path|name)>")
FEWEST = 3  # sessions that ran a command; with fewer, the usual one is unknown
HALF_LIFE = 30  # sessions
LEAST = 0.1
MOST = 5
JOBS = ("test", "check", "lint", "format", "build", "types", "one test", "run", "generate")
_OF_A_FILE = " <path>"
FEWEST_SESSIONS = 2  # that ran a command; what a single one ran may have been its own idea
_SAME_JOB = {"one test": "test"}
_ANYWHERE = ("./...", ".", "…")
_ELSEWHERE = lazy_regex(
    r"(?:^|[\s=\"'])(?:/|~|\$HOME\b|[A-Za-z]:[\\/])[\w.\\/-]*"
)  # outside of the repository
STUMBLES = ("stumble", "pitfall")
START_HALF_LIFE = 30  # sessions
# A rarer stumble costs every session start more than it saves; the agent sees it at the failing call instead.
LEAST_MET = 0.03
Uses = list[tuple[Lived, Ran]]


class Commands(NamedTuple):
    """Commands that sessions had to look up, commands that they ran at once, and rules for commands that are gone."""

    found: list[Lesson]
    usual: list[Lesson]
    undefined: list[str]


def command_lessons(lived: Sequence[Lived], exists: Exists) -> Commands:
    """Return for each job the commands that most sessions used, the most used first."""
    number_of = {session.session: number for number, session in enumerate(lived)}
    gone = _Gone(lived)
    ranked = sorted(
        _by_form(lived, number_of).items(),
        key=lambda pair: (-len(pair[1]), -number_of[pair[1][-1][0].session], pair[0]),
    )
    tasks = {(purpose, _place(command)) for (purpose, command), _ in ranked if _TASK.match(command)}
    kept: dict[str, list[tuple[str, Uses]]] = {}
    undefined: list[str] = []
    for (purpose, command), uses in ranked:
        candidates = kept.setdefault(purpose, [])
        last = number_of[uses[-1][0].session]
        if gone.since(command, last) or len(lived) - last > max(UNUSED, len(lived) / 2):
            undefined.append(_rule_for(purpose, command))
        elif _tells(purpose, command, uses, candidates) and not _stands_in(purpose, command, tasks):
            candidates.append((command, uses))
    chosen = ((purpose, *one) for purpose, candidates in kept.items() for one in _best(purpose, candidates))
    most = sorted(chosen, key=lambda one: -len(one[2]))
    young = len(lived) < YOUNG
    found: list[Lesson] = []
    usual: list[Lesson] = []
    for purpose, command, uses in most:
        lesson = of_command(purpose, command, uses, exists)
        (found if _had_to_be_found(uses, young=young) else usual).append(lesson)
    return Commands(found, usual, undefined)


class _Gone:
    """Undefined tasks and missing programs, with the last session that met each of them."""

    def __init__(self, lived: Sequence[Lived]) -> None:
        self._tasks: dict[str, int] = {}
        self._programs: dict[str, int] = {}
        for number, session in enumerate(lived):
            for stumble in session.experience.stumbles:
                if stumble.cause in GONE:
                    self._tasks[stumble.tried] = number
                elif stumble.cause == "program":
                    self._programs[stumble.token] = number

    def since(self, command: str, used: int) -> bool:
        """Whether a command that was last used in session `used` was missing in a later one."""
        program = IN_FOLDER.sub("", command).partition(" ")[0]
        return max(self._tasks.get(command, -1), self._programs.get(program, -1)) > used


def _by_form(lived: Sequence[Lived], number_of: Mapping[str, int]) -> dict[tuple[str, str], Uses]:
    """Return the uses of each command in its most common form: `npm run x` and `pnpm x` are one task."""
    forms: dict[tuple[str, str], dict[str, Uses]] = {}
    for session in lived:
        for ran in session.experience.commands:
            form = _THROUGH.sub("x ", _SCRIPT.sub("run ", ran.command))
            by_command = forms.setdefault((ran.purpose, form), {})
            by_command.setdefault(ran.command, []).append((session, ran))
    result: dict[tuple[str, str], Uses] = {}
    for (purpose, _), spelled in forms.items():
        best = max(spelled, key=lambda command: (len(spelled[command]), spelled[command][-1][1].at or 0.0))
        seen: dict[str, tuple[Lived, Ran]] = {}
        for command in sorted(spelled, key=lambda one: one != best):
            for session, ran in spelled[command]:
                seen.setdefault(session.session, (session, ran))
        result[purpose, best] = sorted(seen.values(), key=lambda use: number_of[use[0].session])
    return result


def _place(command: str) -> str:
    return match[1] if (match := IN_FOLDER.match(command)) else ""


def _stands_in(purpose: str, command: str, tasks: set[tuple[str, str]]) -> bool:
    """Whether the repository has a task for the job of a bare tool. Testing one file is another job."""
    if _TASK.match(command) or (purpose in ("test", "one test") and _OF_ONE_FILE.search(command)):
        return False
    return (purpose, _place(command)) in tasks


def is_default(command: str) -> bool:
    """Whether every agent tries this command first, in any repository."""
    return bool(_DEFAULT.fullmatch(command))


def _rule_for(purpose: str, command: str) -> str:
    return f"{_LABELS.get(purpose, purpose)}: `{command}`"


def _tells(purpose: str, command: str, uses: Uses, known: list[tuple[str, Uses]]) -> bool:
    """Whether a command is worth a rule besides those that more sessions used."""
    if _DEFAULT.fullmatch(command) and purpose != "test":
        return False  # the test command is worth a rule; that Go builds with `go build` is not
    if len(uses) == 1 and not _TASK.match(command):
        return sum(ran.worked for _, ran in uses) > 1 and not known
    task_uses = next((len(others) for other, others in known if _TASK.match(other)), 0)
    return purpose in ("test", "one test") or 2 * len(uses) >= task_uses or bool(_TASK.match(command))


def _had_to_be_found(uses: Uses, *, young: bool) -> bool:
    """Whether a lesson about a command saves a call: half of its sessions looked it up or tried another first.

    With few sessions this is unknown: a command is proposed until three of them ran it at once.
    """
    watched = [ran.sought for _, ran in uses if ran.sought is not None]
    if young or not watched:
        return len(watched) < KNOWN_ANYWAY or 10 * sum(watched) >= len(watched)
    return sum(watched) >= FINDERS and 2 * sum(watched) >= len(watched)


def _best(purpose: str, known: list[tuple[str, Uses]]) -> list[tuple[str, Uses]]:
    """Return the most used commands, without defaults if there is another one."""
    specific = [candidate for candidate in known if not _DEFAULT.fullmatch(candidate[0])]
    return (specific or known)[: MOST_TESTS if purpose == "test" else MOST_OF_A_PURPOSE]


def purpose_named(label: str) -> str:
    """Return the purpose that a rule's label stands for."""
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


class InUse(Struct, frozen=True, kw_only=True):
    """A command, the chance that the next session runs it, and the number of sessions in which it worked."""

    job: str
    command: str
    chance: float
    sessions: int


def in_use(lived: Sequence[Lived]) -> list[InUse]:
    """Return one command for each job, the likeliest first; [] if too few sessions ran any. `lived` is oldest first."""
    if sum(bool(session.experience.commands) for session in lived) < FEWEST:
        return []
    weights: dict[tuple[str, str], float] = {}
    counts: dict[tuple[str, str], int] = {}
    last: dict[str, int] = {}
    gone: dict[str, int] = {}
    misplaced: set[str] = set()  # programs that fail in the wrong folder
    whole = 1.0  # counts one more session that ran nothing, so that few sessions give no certainty
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
            and not of_one_machine(command)
            # Every agent knows how to format one file, or run one test.
            and (job not in ("one test", "format") or not is_default(command))
        ):
            one = InUse(job=job, command=command, chance=chance, sessions=counts[job, command])
            usable.setdefault(job, []).append(one)
    best = [_chosen(job, _placed(candidates, misplaced)) for job, candidates in usable.items()]
    return sorted(best, key=lambda one: -one.chance)[:MOST]


class UsualCommand(Struct, frozen=True, kw_only=True):
    """A command that several sessions ran: the share that did, the latest counting most, and which ones."""

    job: str
    command: str
    rate: float
    sessions: tuple[str, ...]


def usual_commands(lived: Sequence[Lived]) -> list[UsualCommand]:
    """Return the commands that more than one session ran with success, the likeliest first. `lived` is oldest first.

    Forms that differ in options and places only are one command, shown as the latest sessions wrote it most.
    """
    gone = _Gone(lived)
    whole = 1.0  # counts one more session that ran nothing, so that few sessions give no certainty
    forms: dict[tuple[str, str], dict[str, float]] = {}
    rates: dict[tuple[str, str], float] = {}
    ran_in: dict[tuple[str, str], dict[str, None]] = {}
    last: dict[str, int] = {}
    for number, session in enumerate(lived):
        weight = 0.5 ** ((len(lived) - 1 - number) / HALF_LIFE)
        whole += weight
        for ran in session.experience.commands:
            if not ran.worked or ran.purpose not in JOBS or of_one_machine(ran.command):
                continue
            if is_default(ran.command):  # which every agent tries first
                continue
            last[ran.command] = number
            key = (_SAME_JOB.get(ran.purpose, ran.purpose), _essence(ran.command))
            forms.setdefault(key, {})
            forms[key][ran.command] = forms[key].get(ran.command, 0.0) + weight
            if session.session not in ran_in.setdefault(key, {}):
                ran_in[key][session.session] = None
                rates[key] = rates.get(key, 0.0) + weight
    found: list[UsualCommand] = []
    for (job, essence), written in forms.items():
        defined = [command for command in written if not gone.since(command, last[command])]
        if len(ran_in[job, essence]) < FEWEST_SESSIONS or not defined:
            continue
        command = max(defined, key=lambda one: (written[one], one))
        sessions = tuple(ran_in[job, essence])
        rate = rates[job, essence] / whole
        found.append(UsualCommand(job=job, command=command, rate=rate, sessions=sessions))
    tasks = {(usual.job, _place(usual.command)) for usual in found if _TASK.match(usual.command)}
    telling = (usual for usual in found if not _stands_in(usual.job, usual.command, tasks))
    return sorted(telling, key=lambda usual: (-usual.rate, usual.command))


def _essence(command: str) -> str:
    """The words of a command that say what is done: program, subcommand, task."""
    return " ".join(
        word
        for word in command.split()
        if not word.startswith(("-", "<")) and "=" not in word and word not in _ANYWHERE
    )


def _placed(found: Sequence[InUse], misplaced: Collection[str]) -> Sequence[InUse]:
    """Return the commands that name a folder, if the program works only there and there are any."""
    program = _program(found[0].command)
    in_folder = [use for use in found if use.command.startswith("cd ") and _program(use.command) == program]
    return in_folder if program in misplaced and in_folder else found


def _program(command: str) -> str:
    return command.rpartition("&& ")[2].partition(" ")[0]


def of_one_machine(command: str) -> bool:
    """Whether a command names a path outside of the repository, or was redacted."""
    return "REDACTED" in command or _ELSEWHERE.search(command) is not None


def _chosen(job: str, found: Sequence[InUse]) -> InUse:
    """Return the likeliest command of a job, or the task or general form that replaces it."""
    first = found[0]
    if not _TASK.match(first.command) and not (job == "test" and _OF_A_FILE in first.command):
        place = _place(first.command)
        tasks = (usage for usage in found if _TASK.match(usage.command) and _place(usage.command) == place)
        return next(tasks, first)
    whole = first.command.removesuffix(_OF_A_FILE)
    return next(
        (usage for usage in found if usage.command == whole and 2 * usage.chance >= first.chance), first
    )


def lately_met(lesson: Lesson, sessions: Sequence[str]) -> float:
    """Return the share of these sessions, oldest first, that met a stumble; the latest count most.

    1.0 for lessons that a person wrote, and for lessons of sessions that are unknown here.
    """
    indices = {session: index for index, session in enumerate(sessions)}
    met = [indices[session] for session in lesson.sessions if session in indices]
    if len(met) < len(lesson.sessions) or not met:
        return 1.0
    weights = [float(0.5 ** (back / START_HALF_LIFE)) for back in range(len(sessions))][::-1]
    return sum(weights[index] for index in met) / sum(weights)


def by_worth(lesson: Lesson) -> tuple[object, ...]:
    """Sort key: frequent lessons first, then those with a remedy, then the newest."""
    remedied = any("→" in rule for rule in lesson.rules)
    return -len(lesson.sessions), not remedied, -(lesson.captured_at or 0.0), lesson.name
