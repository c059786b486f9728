"""Lessons in words: one rule each, on one line, the failing name and the remedy beside each other.

One rule is one lesson: it is promoted, muted, found stale and paid back by itself, and its id does not change when
another one is learned. Names begin with the tool, so that a list shows what belongs together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.distill.lesson_fingerprints import Exists, depends_on
from holdfast.distill.lesson_merging import Recurring, recurring
from holdfast.distill.likeness import Likeness, compare
from holdfast.model.experience import Correction, Ran
from holdfast.model.lesson import Fingerprint, Lesson, LessonEvidence, LessonKind
from holdfast.model.session import Lived

MOST_OF_A_PURPOSE = 2
MOST_TESTS = 3
MOST_EVIDENCE = 8
LONGEST_NAME = 48
_PITFALLS = frozenset(["slow", "flaky", "large", "tool", "variable"])
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
_OF_A_PLACE = re.compile(r"cd (\S+) && ")
_SLUG = re.compile(r"[a-z0-9]+")


class Learned(Struct, frozen=True):
    """Lessons, the strongest first, and rules that were true once and are not any more."""

    lessons: tuple[Lesson, ...]
    contradicted: tuple[str, ...] = ()


def learned(lived: Sequence[Lived], exists: Exists) -> Learned:
    """What these sessions (oldest first) teach: stumbles, pitfalls, commands, corrections, conventions."""
    stumbles = recurring(lived)
    found = [_of_stumble(item, exists) for item in stumbles.held]
    found += [*_commands(lived, exists), *_corrections(lived)]
    named: dict[str, Lesson] = {}
    for lesson in found:
        name = (
            lesson.name if lesson.name not in named else f"{lesson.name}-{lesson.id.rpartition('-')[2][:4]}"
        )
        named[name] = replace(lesson, name=name)
    return Learned(tuple(named.values()), tuple(rule_of(item) for item in stumbles.contradicted))


# --- stumbles ---


def rule_of(item: Recurring) -> str:
    """The stumble on one line: what fails, why, and what works."""
    token, tried, instead = item.tokens[0], item.tried, item.instead
    then = f" → `{instead}`" if instead else ""
    match item.cause:
        case "path" if not instead:
            return f"there is no `{token}` in this repository"
        case "path":
            like = "" if "." in token.rpartition("/")[2] else "files like "
            return f"`{token}` does not exist here → {like}`{instead}`"
        case "folder":
            return f"there is no folder `{token}` here → its files are in `{instead}`"
        case "large":
            return f"`{token}` is too large to read at once → read a part of it (offset and limit), or search in it"
        case "program":
            return f"`{token}` is not found here{then}" if instead else f"`{token}` is not installed here"
        case "tool":
            return f"`{tried}` needs `{token}`, which is not found here{then}"
        case "prefix":
            names = ", ".join(f"`{item.subject} {name}`" for name in item.tokens)
            many = len(item.tokens) > 1
            why = f" ({item.failed})" if item.failed and not many else ""
            return f"{names} fail{'' if many else 's'} here{why} → without `{item.subject}`: `{instead}`"
        case "glob":
            return f"an unquoted `{token}` in an argument fails in this shell (no matches found) → quote the argument"
        case "format":
            return f"`{tried}` fails on formatting → `{instead}` first"
        case "rule":
            return f"`{tried}` fails on `{token}`" + (f" ({item.failed})" if item.failed else "")
        case "place" if len(item.tokens) > 1 and (place := _OF_A_PLACE.match(instead)):
            names = ", ".join(f"`{name}`" for name in item.tokens)
            return f"{names} fail here ({item.failed}) → in `{place[1]}/`: `{instead}`"
        case "slow":
            return f"`{token}` takes long ({item.failed}) → give it more time, or run it in the background"
        case "flaky":
            return f"test `{token}` is flaky: failed, then passed without an edit → run it again before you debug it"
        case "variable":
            return f"`{tried}` needs `{token}` to be set{then}"
    why = f" ({item.failed})" if item.failed else ""
    return f"`{tried}` fails here{why}{then}"


def _of_stumble(item: Recurring, exists: Exists) -> Lesson:
    kind: LessonKind = (
        "pitfall" if item.cause in _PITFALLS else "convention" if item.cause == "rule" else "stumble"
    )
    if item.cause in ("path", "folder"):
        targets = tuple(path for path in (item.instead,) if path and exists(path))
    elif item.cause == "large":
        targets = tuple(path for path in item.tokens if exists(path))
    else:
        targets = (*depends_on(item.instead, exists), *depends_on(item.tried, exists))[:2]
    rule = rule_of(item)
    return Lesson(
        name=_stumble_name(item),
        description=_description(item),
        rules=(rule,),
        kind=kind,
        fingerprint=tuple(Fingerprint(target=target) for target in dict.fromkeys(targets)),
        captured_at=item.at,
        evidence=_evidence(
            (
                one.session,
                one.at,
                f"{one.stumble.tried}: {one.stumble.failed}"
                + (f" → {one.stumble.instead}" if one.stumble.instead else ""),
            )
            for one in item.seen
        ),
    )


def _stumble_name(item: Recurring) -> str:
    match item.cause:
        case "path" | "folder" | "large":
            return slug("path", item.tokens[0])
        case "glob":
            return {
                "?": "shell-quote-question-mark",
                "[": "shell-quote-brackets",
                "*": "shell-quote-star",
            }.get(item.tokens[0], slug("shell-quote", item.tokens[0]))
        case "program" | "prefix":
            return slug(item.subject, item.tokens[0], "missing" if item.cause == "program" else "prefix")
        case "format":
            return slug(item.subject, "formatting")
        case "rule":
            return slug("lint", item.tokens[0])
        case "flaky":
            return slug("flaky", item.tokens[0])
        case "slow":
            return slug(item.subject, "slow")
        case "place":
            return slug(item.tokens[0], "place")
        case "usage" | "refused" | "switch":
            return slug(item.subject, item.cause)
    return slug(item.subject, item.tokens[0])


def _description(item: Recurring) -> str:
    return {
        "path": "a path that is guessed wrong",
        "folder": "a folder that is guessed wrong",
        "large": "a file too large to read at once",
        "program": "a program that is not here, or has another name",
        "tool": "a tool that a task needs",
        "prefix": "a prefix that does not know the command",
        "glob": "a word that the shell takes for a pattern",
        "format": "a check that fails on formatting",
        "rule": "a rule that the linter enforces",
        "slow": "a suite that takes long",
        "flaky": "a test that fails now and then",
        "variable": "a variable that must be set",
        "flag": "an option that this tool does not have",
        "task": "a task that is not defined here",
        "command": "a subcommand that does not exist",
        "target": "a target that this package does not have",
        "place": "a directory from which it does not run",
        "module": "a module that is not found",
    }.get(item.cause, "a call that fails here")


# --- commands ---


Uses = list[tuple[Lived, Ran]]


def _commands(lived: Sequence[Lived], exists: Exists) -> list[Lesson]:
    """For each job the commands that most sessions did it with. One that is no longer defined is left out."""
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
    for (purpose, command), uses in ranked:
        known = kept.setdefault(purpose, [])
        if gone.get(command, -1) <= number_of[uses[-1][0].session] and _tells(purpose, command, uses, known):
            known.append((command, uses))
    chosen = ((purpose, *one) for purpose, known in kept.items() for one in _best(purpose, known))
    lessons = [(len(uses), of_command(purpose, command, uses, exists)) for purpose, command, uses in chosen]
    return [lesson for _, lesson in sorted(lessons, key=lambda pair: -pair[0])]


def _tells(purpose: str, command: str, uses: Uses, known: list[tuple[str, Uses]]) -> bool:
    """Whether a command is worth a word beside those that more sessions used."""
    if _DEFAULT.fullmatch(command) and purpose != "test":
        return False  # which tests there are is worth a word; that Go builds with `go build` is not
    if len(uses) == 1 and not _TASK.match(command):
        return sum(ran.worked for _, ran in uses) > 1 and not known
    beside = next((len(others) for other, others in known if _TASK.match(other)), 0)
    return purpose in ("test", "one test") or 2 * len(uses) >= beside or bool(_TASK.match(command))


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
        rules=(f"{label}: `{command}`",),
        kind="command",
        fingerprint=tuple(Fingerprint(target=target) for target in depends_on(command, exists)),
        captured_at=uses[-1][1].at or uses[-1][0].ended,
        evidence=_evidence(
            (session.session, ran.at or session.ended, f"{command}: {ran.line or 'worked'} ({ran.worked} ×)")
            for session, ran in uses
        ),
    )


# --- corrections ---


def _corrections(lived: Sequence[Lived]) -> list[Lesson]:
    groups: list[list[tuple[Lived, Correction]]] = []
    for session in lived:
        for said in session.experience.corrections:
            for group in groups:
                verdict = compare(group[0][1].text, said.text).likeness
                if verdict is Likeness.SAME:
                    group.append((session, said))
                    break
            else:
                groups.append([(session, said)])
    lessons = []
    for group in groups:
        if len({session.session for session, _ in group}) < 2 and not any(said.lasting for _, said in group):
            continue
        text = group[-1][1].text
        lessons.append(
            Lesson(
                name=slug("user", " ".join(text.split()[:6])),
                description="said by the user",
                rules=(text,),
                kind="correction",
                captured_at=group[-1][1].at or group[-1][0].ended,
                evidence=_evidence((session.session, said.at, said.text) for session, said in group),
            )
        )
    return lessons


# --- common ---


def _evidence(items: Iterable[tuple[str, float | None, str]]) -> tuple[LessonEvidence, ...]:
    """One line for each session, the newest of them."""
    by_session: dict[str, LessonEvidence] = {}
    for session, at, line in items:
        by_session[session] = LessonEvidence(session=session, at=at, line=line)
    return tuple(by_session.values())


def slug(*texts: str) -> str:
    """A name for a file: lower case, words joined by hyphens."""
    words = _SLUG.findall(" ".join(texts).casefold())
    name = ""
    for word in words:
        if len(name) + len(word) + 1 > LONGEST_NAME:
            break
        name = f"{name}-{word}" if name else word
    return name or "lesson"
