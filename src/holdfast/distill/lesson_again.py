"""Whether sessions show a rule again: as it was, or in the form that works now."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from holdfast.distill.lesson_commands import Uses, of_command, purpose_named
from holdfast.distill.lesson_fingerprints import Exists
from holdfast.distill.lesson_likeness import same_rule
from holdfast.distill.lesson_rules import learned
from holdfast.model.experience import Experience
from holdfast.model.lesson import Lesson
from holdfast.model.session import Lived

_COMMAND = re.compile(r"([\w ]{2,12}): `([^`\n]+)`")


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
