"""Lessons in words: one rule each, on one line, the failing name and the remedy beside each other.

One rule is one lesson: it is promoted, muted, found stale and paid back by itself, and its id does not change when
another one is learned. Names begin with the tool, so that a list shows what belongs together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.likeness import Likeness, compare
from holdfast.core.patterns import lazy_regex
from holdfast.lessons.commands import YOUNG, Uses, command_lessons, of_command, purpose_named
from holdfast.lessons.contradictions import Recurring
from holdfast.lessons.grounds import Exists, depends_on, enforced_by, evidence_of, slug
from holdfast.lessons.recurring_stumbles import recurring, refused_rule
from holdfast.model.events import Lived
from holdfast.model.lesson import PRESENT, Correction, Experience, Fingerprint, Lesson, LessonKind
from holdfast.sessions.stumble_watch import WITHOUT

_OF_THE_TOOL = frozenset(
    ["flag", "prefix", "glob", "usage", "refused", "program", "engine", "blocked"]
)  # whatever this repository holds
_PITFALLS = frozenset(["slow", "flaky", "large", "tool", "variable"])
# Of what one session met, at least half was met by another (docs/lessons-reading.md); of the rest a fifth.
COMES_AGAIN = frozenset(["program", "task", "command", "prefix", "target", "place", "format", "engine"])
UNMET = 3  # sessions since
_OF_A_PLACE = lazy_regex(r"cd (\S+) && ")


class Learned(Struct, frozen=True):
    """Lessons, the strongest first, and rules that were true once and are not any more.

    `usual` are commands that many sessions ran and none had to find: true, and nothing that anybody has to learn.
    """

    lessons: tuple[Lesson, ...]
    contradicted: tuple[str, ...] = ()
    usual: tuple[Lesson, ...] = ()


def learned(lived: Sequence[Lived], exists: Exists) -> Learned:
    """What these sessions (oldest first) teach: stumbles, pitfalls, commands, corrections, conventions."""
    stumbles = recurring(lived)
    place = {session.session: number for number, session in enumerate(lived, 1)}
    found = [
        replace(_of_stumble(item, exists), seldom=_seldom(item, len(lived) - place[item.seen[-1].session]))
        for item in stumbles.held
    ]
    commands = command_lessons(lived, exists)
    remedies = {item.instead for item in stumbles.held}  # said once, beside what fails
    found += [
        replace(one, seldom=len(one.sessions) == 1 or len(lived) < YOUNG)
        for one in commands.found
        if one.rules[0].partition("`")[2][:-1] not in remedies
    ]
    found += _corrections(lived)
    named: dict[str, Lesson] = {}
    for lesson in found:
        name = (
            lesson.name if lesson.name not in named else f"{lesson.name}-{lesson.id.rpartition('-')[2][:4]}"
        )
        named[name] = replace(lesson, name=name)
    contradicted = (rule_of(item) for item in stumbles.contradicted)
    return Learned(tuple(named.values()), (*contradicted, *commands.undefined), tuple(commands.usual))


# --- stumbles ---


def _seldom(item: Recurring, later: int) -> bool:
    """Whether what one session met will hardly be met again: by its cause, or because so many sessions did not."""
    return item.sessions == 1 and (item.cause not in COMES_AGAIN or later >= UNMET)


def rule_of(item: Recurring) -> str:
    """The stumble on one line: what fails, why, and what works."""
    if item.cause == "blocked":
        return refused_rule(item)
    token, tried, instead = item.tokens[0], item.tried, item.instead
    then = f" → `{instead}`" if instead else ""
    match item.cause:
        case "path" if not instead:
            return f"there is no `{token}` in this repository"
        case "path":
            like = (
                "files like "
                if "." in instead.rpartition("/")[2] and "." not in token.rpartition("/")[2]
                else ""
            )
            return f"`{token}` does not exist here → {like}`{instead}`"
        case "folder":
            return f"there is no folder `{token}` here → its files are in `{instead}`"
        case "large":
            return f"`{token}` is too large to read at once → read a part of it (offset and limit), or search in it"
        case "program":
            then = " → run the command without it" if instead == WITHOUT else then
            return f"`{token}` is not found here{then}"
        case "tool":
            return f"`{tried}` needs `{token}`, which is not found here{then}"
        case "prefix":
            names = ", ".join(f"`{item.subject} {name}`" for name in item.tokens)
            many = len(item.tokens) > 1
            why = f" ({item.failed})" if item.failed and not many else ""
            return f"{names} fail{'' if many else 's'} here{why} → without `{item.subject}`: `{instead}`"
        case "glob":
            if token.startswith("-"):
                return (
                    f"`{token}=*…` unquoted fails in this shell (no matches found) → quote it: `{token}='*…'`"
                )
            if token == "*":
                return (
                    "a `*` that matches nothing fails in this shell (no matches found) → quote it, as in "
                    "`--include='*.x'`, or name the file"
                )
            if token == "=":
                return "a word that begins with `=` (`echo ===`) fails in this shell → quote it: `echo '==='`"
            return f"an unquoted `{token}` in an argument fails in this shell (no matches found) → quote the argument"
        case "format":
            return f"`{tried}` fails on formatting → `{instead}` first"
        case "rule":
            example = next((one.stumble.example for one in item.seen if one.stumble.example), "")
            why = f" ({item.failed})" if item.failed else ""
            return f"`{tried}` fails on `{token}`{why}" + (f", as in `{example}`" if example else "")
        case "place" if len(item.tokens) > 1 and (place := _OF_A_PLACE.match(instead)):
            names = ", ".join(f"`{name}`" for name in item.tokens)
            also = "".join(f" or `{other}`" for other in item.others)
            return f"{names} fail here ({item.failed}) → in `{place[1]}/`: `{instead}`{also}"
        case "slow":
            return f"`{token}` takes long ({item.failed}) → give it more time, or run it in the background"
        case "flaky":
            return f"test `{token}` is flaky: failed, then passed without an edit → run it again before you debug it"
        case "variable":
            return f"`{tried}` needs `{token}` to be set{then}"
    # Another way to do a job helped, and nothing says what was wrong: the output is not quoted.
    why = f" ({item.failed})" if item.failed and item.cause != "switch" else ""
    if item.cause in ("flag", "target") and instead == item.subject:
        then += " without it"
    then += "".join(f" or `{other}`" for other in item.others)
    return f"`{tried}` fails here{why}{then}"


def _of_stumble(item: Recurring, exists: Exists) -> Lesson:
    kind: LessonKind = (
        "pitfall" if item.cause in _PITFALLS else "convention" if item.cause == "rule" else "stumble"
    )
    digest = ""
    if item.cause in ("path", "folder"):
        targets = tuple(path for path in (item.instead,) if path and exists(path))
        digest = PRESENT  # where it is matters, not what is in it
    elif item.cause == "large":
        targets = tuple(path for path in item.tokens if exists(path))
    elif item.cause == "rule":
        targets = (*enforced_by(item.tokens[0], exists), *depends_on(item.tried, exists))[:1]
    elif item.cause in _OF_THE_TOOL:
        targets = ()
    else:
        targets = (*depends_on(item.instead, exists), *depends_on(item.tried, exists))[:2]
    return Lesson(
        name=_stumble_name(item),
        description=_DESCRIPTIONS.get(item.cause, "a call that fails here"),
        rules=(rule_of(item),),
        kind=kind,
        fingerprint=tuple(Fingerprint(target=target, digest=digest) for target in dict.fromkeys(targets)),
        captured_at=item.at,
        evidence=evidence_of(
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
            return slug("path", "/".join(item.tokens[0].rstrip("/").split("/")[-2:]))
        case "glob":
            return {
                "?": "shell-quote-question-mark",
                "[": "shell-quote-brackets",
                "*": "shell-unmatched-star",
                "(": "shell-quote-parentheses",
                "=": "shell-quote-equals",
            }.get(item.tokens[0], slug("shell-quote", item.tokens[0]))
        case "program" | "prefix":
            return slug(item.subject, item.tokens[0], "missing" if item.cause == "program" else "prefix")
        case "blocked":
            return slug("refused", *item.tokens[:1], " ".join(item.subject.split()[1:5]))
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
        case "usage" | "refused" | "switch" | "engine" | "excluded":
            return slug(item.subject, item.cause)
    return slug(item.subject, item.tokens[0])


_DESCRIPTIONS = {
    "path": "a path that is guessed wrong",
    "folder": "a folder that is guessed wrong",
    "large": "a file too large to read at once",
    "program": "a program that is not here, or has another name",
    "blocked": "a call that is refused before it runs",
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
    "engine": "another version of what runs it is needed",
    "excluded": "a build that leaves out what is asked for",
}


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
                evidence=evidence_of((session.session, said.at, said.text) for session, said in group),
            )
        )
    return lessons


# Whether two rules are one lesson: the same cause, whatever the remedy and the wording.

_SPAN = lazy_regex(r"`([^`\n]+)`")
_REFUSED = lazy_regex(r"\b(?:is|are) refused here\b.* by (?:a hook|configuration|the client)\b")
_FAILS = lazy_regex(
    r"\bfails?\b|\bdoes not exist\b|\bthere is no\b|\bis not (?:found|installed)\b"
    r"|\bneeds\b|\benforces\b|\bflaky\b|\btakes long\b"
)


def same_rule(one: str, other: str) -> bool:
    """Rules about a failing call or a command are told apart by it; others by what they say."""
    some, others = _cause(one), _cause(other)
    return some == others if some or others else compare(one, other).likeness is Likeness.SAME


def _cause(rule: str) -> tuple[str, ...]:
    if match := _COMMAND.fullmatch(rule.strip()):
        return ("works", match[2])  # that a command works is not what says that it fails
    failing = rule.partition("→")[0].rstrip()
    if _REFUSED.search(failing):
        return ("refused", failing)  # by the hook's words: one hook refuses a call for several reasons
    return ("fails", *_SPAN.findall(failing)) if _FAILS.search(failing) else ()


# Whether sessions show a rule again: as it was, or in the form that works now.

_COMMAND = lazy_regex(r"([\w ]{2,12}): `([^`\n]+)`")


def since(lived: Sequence[Lived], moment: float) -> list[Lived]:
    """These sessions, each with what it lived through after this moment; those that ended before are left out."""
    recent = []
    for session in lived:
        if (session.ended or session.started or 0.0) < moment:
            continue
        known = session.experience
        recent.append(
            replace(
                session,
                experience=Experience(
                    stumbles=tuple(item for item in known.stumbles if (item.at or 0.0) >= moment),
                    commands=tuple(item for item in known.commands if (item.at or 0.0) >= moment),
                    corrections=tuple(item for item in known.corrections if (item.at or 0.0) >= moment),
                ),
            )
        )
    return recent


def shown_again(
    rule: str, lived: Sequence[Lived], exists: Exists, taken: Collection[str] = ()
) -> Lesson | None:
    """What these sessions make of a rule; `taken` are rules that stand elsewhere, and are not what became of this one.

    A command is shown again when it worked; what else did its job in most of these sessions is its new form.
    """
    if command := _COMMAND.fullmatch(rule.strip()):
        return _command_again(command[1], command[2], lived, exists, taken)
    for lesson in learned(lived, exists).lessons:
        if lesson.rules[0] not in taken and same_rule(lesson.rules[0], rule):
            return lesson
    return None


def _command_again(
    label: str, command: str, lived: Sequence[Lived], exists: Exists, taken: Collection[str]
) -> Lesson | None:
    purpose = purpose_named(label)
    used: dict[str, Uses] = {}
    for session in lived:
        for ran in session.experience.commands:
            if ran.purpose == purpose and ran.worked and f"{label}: `{ran.command}`" not in taken:
                used.setdefault(ran.command, []).append((session, ran))
    if not used:
        return None
    best = (
        command
        if command in used
        else max(used, key=lambda one: (len(used[one]), used[one][-1][1].at or 0.0))
    )
    return of_command(purpose, best, used[best], exists)
