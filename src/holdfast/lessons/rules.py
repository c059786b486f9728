"""Words lessons: one rule each, on one line, with the failing call and its remedy.

One rule is one lesson: it is promoted, muted, found stale and paid back by itself, and its id does not change when
another one is learned. Names begin with the tool, so that a list shows what belongs together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.likeness import Likeness, compare
from holdfast.lessons.commands import YOUNG, Uses, command_lessons, of_command, purpose_named
from holdfast.lessons.contradictions import Recurring
from holdfast.lessons.grounds import IN_FOLDER, Exists, depends_on, enforced_by, evidence_of, slug
from holdfast.lessons.proposals import COMMAND_RULE, same_rule
from holdfast.lessons.recurring_stumbles import recurring, refused_rule
from holdfast.model.events import Lived
from holdfast.model.lesson import PRESENT, Correction, Experience, Fingerprint, Lesson
from holdfast.sessions.stumble_watch import WITHOUT

UNMET = 3  # later sessions that did not meet a stumble that one session met
_GLOB_RULES = {
    "*": "a `*` that matches nothing fails in this shell (no matches found) → quote it, as in "
    "`--include='*.x'`, or name the file",
    "=": "a word that begins with `=` (`echo ===`) fails in this shell → quote it: `echo '==='`",
}
_GLOB_NAMES = {
    "?": "shell-quote-question-mark",
    "[": "shell-quote-brackets",
    "*": "shell-unmatched-star",
    "(": "shell-quote-parentheses",
    "=": "shell-quote-equals",
}


class Learned(Struct, frozen=True):
    """Lessons, the strongest first, and rules that no longer apply.

    `usual` are commands that many sessions ran without looking them up: true, but no lesson.
    """

    lessons: tuple[Lesson, ...]
    contradicted: tuple[str, ...] = ()
    usual: tuple[Lesson, ...] = ()


def learned(lived: Sequence[Lived], exists: Exists) -> Learned:
    """Return the lessons of these sessions (oldest first): stumbles, pitfalls, commands, corrections, conventions."""
    stumbles = recurring(lived)
    number_of = {session.session: number for number, session in enumerate(lived, 1)}
    lessons = [
        replace(
            _of_stumble(item, exists), seldom=_seldom(item, len(lived) - number_of[item.seen[-1].session])
        )
        for item in stumbles.held
    ]
    commands = command_lessons(lived, exists)
    remedies = {item.instead for item in stumbles.held}  # already named in a stumble's rule
    lessons += [
        replace(candidate, seldom=len(candidate.sessions) == 1 or len(lived) < YOUNG)
        for candidate in commands.found
        if candidate.rules[0].partition("`")[2][:-1] not in remedies
    ]
    lessons += _corrections(lived)
    named: dict[str, Lesson] = {}
    for lesson in lessons:
        name = (
            lesson.name if lesson.name not in named else f"{lesson.name}-{lesson.id.rpartition('-')[2][:4]}"
        )
        named[name] = replace(lesson, name=name)
    contradicted = (rule_of(item) for item in stumbles.contradicted)
    return Learned(tuple(named.values()), (*contradicted, *commands.undefined), tuple(commands.usual))


def _seldom(item: Recurring, later: int) -> bool:
    """Whether a stumble of one session is unlikely to recur, by its cause or because later sessions did not meet it."""
    return item.sessions == 1 and (not item.known.comes_again or later >= UNMET)


def rule_of(item: Recurring) -> str:
    """Write a stumble on one line: what fails, why, and what works."""
    token, tried, instead = item.tokens[0] if item.tokens else "", item.tried, item.instead
    then = f" → `{instead}`" if instead else ""
    why = f" ({item.failed})" if item.failed else ""
    also = "".join(f" or `{remedy}`" for remedy in item.others)
    match item.cause:
        case "blocked":
            return refused_rule(item)
        case "path" if not instead:
            return f"there is no `{token}` in this repository"
        case "path":
            is_file = "." in instead.rpartition("/")[2] and "." not in token.rpartition("/")[2]
            return f"`{token}` does not exist here → {'files like ' if is_file else ''}`{instead}`"
        case "program" if instead == WITHOUT:
            then = " → run the command without it"
        case "prefix":
            names = ", ".join(f"`{item.subject} {name}`" for name in item.tokens)
            many = len(item.tokens) > 1
            fail = "fail here" if many else f"fails here{why}"
            return f"{names} {fail} → without `{item.subject}`: `{instead}`"
        case "glob" if token.startswith("-"):
            return f"`{token}=*…` unquoted fails in this shell (no matches found) → quote it: `{token}='*…'`"
        case "glob" if token in _GLOB_RULES:
            return _GLOB_RULES[token]
        case "rule":
            example = next(
                (sighting.stumble.example for sighting in item.seen if sighting.stumble.example), ""
            )
            return f"`{tried}` fails on `{token}`{why}" + (f", as in `{example}`" if example else "")
        case "place" if len(item.tokens) > 1 and (place := IN_FOLDER.match(instead)):
            names = ", ".join(f"`{name}`" for name in item.tokens)
            return f"{names} fail here ({item.failed}) → in `{place[1]}/`: `{instead}`{also}"
        case "switch":
            why = ""  # another command did the job, and the cause is unknown
    if template := item.known.rule:
        return template.format(token=token, tried=tried, failed=item.failed, instead=instead, then=then)
    if item.cause in ("flag", "target") and instead == item.subject:
        then += " without it"
    return f"`{tried}` fails here{why}{then}{also}"


def _of_stumble(item: Recurring, exists: Exists) -> Lesson:
    digest = ""
    targets: tuple[str, ...] = ()
    if item.cause in ("path", "folder"):
        targets = tuple(path for path in (item.instead,) if path and exists(path))
        digest = PRESENT  # the path matters, not the content
    elif item.cause == "large":
        targets = tuple(path for path in item.tokens if exists(path))
    elif item.cause == "rule":
        targets = (*enforced_by(item.tokens[0], exists), *depends_on(item.tried, exists))[:1]
    elif not item.known.of_tool:
        targets = (*depends_on(item.instead, exists), *depends_on(item.tried, exists))[:2]
    sightings = [(stumble.session, stumble.at, stumble.stumble) for stumble in item.seen]
    return Lesson(
        name=_stumble_name(item),
        description=item.known.description,
        rules=(rule_of(item),),
        kind=item.known.kind,
        fingerprint=tuple(Fingerprint(target=target, digest=digest) for target in dict.fromkeys(targets)),
        captured_at=item.at,
        evidence=evidence_of(
            (
                session,
                at,
                f"{stumble.tried}: {stumble.failed}" + (f" → {stumble.instead}" if stumble.instead else ""),
            )
            for session, at, stumble in sightings
        ),
    )


def _stumble_name(item: Recurring) -> str:
    token = item.tokens[0] if item.tokens else ""
    if item.cause in ("path", "folder", "large"):
        return slug("path", "/".join(token.rstrip("/").split("/")[-2:]))
    if item.cause == "blocked":
        return slug("refused", token, " ".join(item.subject.split()[1:5]))
    if item.cause == "glob" and token in _GLOB_NAMES:
        return _GLOB_NAMES[token]
    return slug(item.known.name.format(subject=item.subject, token=token))


def _corrections(lived: Sequence[Lived]) -> list[Lesson]:
    groups: list[list[tuple[Lived, Correction]]] = []
    for session in lived:
        for correction in session.experience.corrections:
            for group in groups:
                verdict = compare(group[0][1].text, correction.text).likeness
                if verdict is Likeness.SAME:
                    group.append((session, correction))
                    break
            else:
                groups.append([(session, correction)])
    lessons = []
    for group in groups:
        if len({session.session for session, _ in group}) < 2 and not any(
            correction.lasting for _, correction in group
        ):
            continue
        text = group[-1][1].text
        lessons.append(
            Lesson(
                name=slug("user", " ".join(text.split()[:6])),
                description="said by the user",
                rules=(text,),
                kind="correction",
                captured_at=group[-1][1].at or group[-1][0].ended,
                evidence=evidence_of(
                    (session.session, correction.at, correction.text) for session, correction in group
                ),
            )
        )
    return lessons


def since(lived: Sequence[Lived], moment: float) -> list[Lived]:
    """Return the sessions that ended after a moment, each with only its experience since then."""
    recent = []
    for session in lived:
        if (session.ended or session.started or 0.0) < moment:
            continue
        experience = session.experience
        recent.append(
            replace(
                session,
                experience=Experience(
                    stumbles=tuple(item for item in experience.stumbles if (item.at or 0.0) >= moment),
                    commands=tuple(item for item in experience.commands if (item.at or 0.0) >= moment),
                    corrections=tuple(item for item in experience.corrections if (item.at or 0.0) >= moment),
                ),
            )
        )
    return recent


def shown_again(
    rule: str, lived: Sequence[Lived], exists: Exists, taken: Collection[str] = ()
) -> Lesson | None:
    """Return the lesson of these sessions that confirms or replaces a rule. Rules in `taken` belong to other lessons.

    A command is confirmed if it worked; otherwise the command that did its job in most of these sessions replaces it.
    """
    if command := COMMAND_RULE.fullmatch(rule.strip()):
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
