"""The line of commands that a session is told at its start: what those before it tested, linted and built with."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from holdfast.app.learning import known_here, lived_here
from holdfast.app.lesson_lines import flat
from holdfast.app.meanwhile import Line
from holdfast.app.pointing import is_checkout
from holdfast.app.wiring import Machine
from holdfast.distill.commands_in_use import InUse, in_use
from holdfast.distill.lesson_fingerprints import depends_on
from holdfast.guard.lesson_text import why_line_refused
from holdfast.guard.visible import visible
from holdfast.model.lesson import Fingerprint
from holdfast.model.session import Lived
from holdfast.repo.fingerprint import Missing, check
from holdfast.store.layout import Project
from holdfast.text.tokens import count_tokens

BUDGET = 45
_HEADING = "Commands here: "
_QUOTED = re.compile(r"`([^`]+)`")


def command_line(
    machine: Machine, project: Project, silenced: Collection[str], instructions: str
) -> Line | None:
    """None where too few sessions ran any, or the agent's own files say them all.

    `silenced` are rules that must not be told; `instructions` is what the repository's guides say, in lower case.
    """
    lived = lived_here(project)
    unwanted = {quoted for rule in silenced for quoted in _QUOTED.findall(rule)}
    told: list[InUse] = []
    parts: list[str] = []
    left = BUDGET
    for one in in_use(lived):
        text = flat(visible(machine.clean(f"{one.job} `{one.command}`")))
        if one.command in unwanted or not text or "\n" in text or why_line_refused(text):
            continue
        cost = count_tokens(text) + 1
        if cost > left or is_stated(one.command, instructions) or not _is_there(project, one.command, lived):
            continue
        left -= cost
        told.append(one)
        parts.append(text)
    if not told:
        return None
    most = max(told, key=lambda one: one.sessions)
    return Line(
        f"{_HEADING}{'; '.join(parts)}",
        f"run in up to {most.sessions} of {len(lived)} sessions; recent ones count more",
    )


def is_stated(command: str, instructions: str) -> bool:
    """Whether a guide names the command, whatever it is given."""
    named = command.partition(" <")[0].casefold()
    return re.search(rf"(?<![\w-]){re.escape(named)}(?![\w:-])", instructions) is not None


def _is_there(project: Project, command: str, lived: Sequence[Lived]) -> bool:
    """Whether what the command is defined by still has it, where there is a checkout to look at."""
    if not is_checkout(project.root):
        return True
    targets = depends_on(command, known_here(project, lived, only_checkout=True))
    against = [Fingerprint(target=target) for target in targets]
    return not any(isinstance(verdict, Missing) for verdict in check(project.root, against).verdicts)
